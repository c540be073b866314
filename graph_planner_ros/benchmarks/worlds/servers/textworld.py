"""Serves one game of TextWorld, and makes games, for `benchmarks/worlds/textworld.py`; see `channel` for the pipe.

What goes out is what a player gets: words, admissible commands, the objective, score, won or lost. Never facts.
"""

from __future__ import annotations

from typing import Any

from channel import serve  # first: from here on, prints go to stderr


class Handler:
    """One game at a time."""

    def __init__(self) -> None:
        import textworld

        self._engine = textworld
        self._game: Any = None
        self._most = 0.0

    def do_reset(self, path: str) -> dict[str, Any]:
        """Start the game of a file anew."""
        self.do_close()
        wanted = self._engine.EnvInfos(
            admissible_commands=True, objective=True, max_score=True, score=True, won=True, lost=True
        )
        self._game = self._engine.start(path, wanted)
        state = self._game.reset()
        self._most = float(state.max_score or 0.0)
        return {**self._seen(state, False), "goal": state.objective or ""}

    def do_step(self, command: str) -> dict[str, Any]:
        """Carry out a command."""
        state, _, done = self._game.step(command)
        return self._seen(state, bool(done))

    def do_close(self) -> dict[str, Any]:
        """End the game."""
        if self._game is not None:
            self._game.close()
            self._game = None
        return {}

    def do_make(self, challenge: str, settings: dict[str, Any], seed: int, path: str) -> dict[str, Any]:
        """Make a game of one of the engine's challenges (as ``tw-make`` does) and compile it.

        Args:
            challenge: e.g. ``tw-cooking``. settings: by the names of its options. path: of the file.
        """
        from textworld.challenges import CHALLENGES

        options = self._options(seed, path)
        game = CHALLENGES[challenge][1](settings, options)
        return {"path": self._engine.generator.compile_game(game, options)}

    def do_custom(self, settings: dict[str, Any], seed: int, path: str) -> dict[str, Any]:
        """Make a game with a house and a chain of actions of given sizes (as ``tw-make custom`` does).

        Args:
            settings: ``rooms``, ``objects``, ``quest``: actions that the quest takes. path: of the file.
        """
        options = self._options(seed, path)
        options.nb_rooms, options.nb_objects = settings["rooms"], settings["objects"]
        chain = options.chaining
        chain.min_length = chain.max_length = chain.max_depth = settings["quest"]
        chain.max_breadth = 1
        return {"path": self._engine.make(options)[0]}

    def do_build(self, plan: dict[str, Any], seed: int, path: str) -> dict[str, Any]:
        """Build and compile a house from a plan, see `build`."""
        options = self._options(seed, path)
        maker = self._engine.GameMaker(options)
        build(self._engine, maker, plan)
        game = maker.build()
        game.objective = plan["objective"]
        return {"path": self._engine.generator.compile_game(game, options)}

    def _options(self, seed: int, path: str) -> Any:
        options = self._engine.GameOptions()
        options.seeds = seed
        options.path = path
        options.file_ext = ".z8"
        options.force_recompile = True
        return options

    def _seen(self, state: Any, done: bool) -> dict[str, Any]:
        score = float(state.score or 0.0)
        return {
            "text": state.feedback or "",
            "commands": list(state.admissible_commands or ()),
            "score": score / self._most if self._most > 0.0 else float(bool(state.won)),
            "won": bool(state.won),
            "lost": bool(state.lost),
            "done": done,
        }


def build(engine: Any, maker: Any, plan: dict[str, Any]) -> None:
    """Build a house.

    Args:
        engine: the package. maker: its ``GameMaker``.
        plan: ``rooms``: name -> {direction: name}; ``furniture``: name -> [``c`` or ``s``, room]; ``things``: name ->
            room or piece of furniture where it is at first; ``homes``: name -> piece of furniture where it belongs,
            which is worth a point; ``start``: room; ``objective``: text.
    """
    from textworld.generator.game import Event, Quest

    rooms = {name: maker.new_room(name) for name in plan["rooms"]}
    joined: set[frozenset[str]] = set()
    opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
    for name, exits in plan["rooms"].items():
        for direction, other in exits.items():
            if frozenset((name, other)) not in joined:
                joined.add(frozenset((name, other)))
                maker.connect(rooms[name].exits[direction], rooms[other].exits[opposite[direction]])
    places = dict(rooms)
    for name, (kind, room) in plan["furniture"].items():
        places[name] = maker.new(type=kind, name=name)
        if kind == "c":
            places[name].add_property("closed")
        rooms[room].add(places[name])
    quests = []
    for name, place in plan["things"].items():
        thing = maker.new(type="o", name=name)
        places[place].add(thing)
        home = plan["homes"].get(name)
        if home is not None:
            relation = "in" if places[home].type == "c" else "on"
            quests.append(Quest(win_events=[Event(conditions={maker.new_fact(relation, thing, places[home])})]))
    maker.set_player(rooms[plan["start"]])
    maker.quests = quests


if __name__ == "__main__":
    serve(Handler)
