"""TextWorld: texts and commands as facts, unknown rooms, limits learned, games played; real ones where installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_kitchen import GOAL, SmallKitchen

from graph_planner_ros.benchmarks.worlds import process, textworld
from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.believing import TextBelief
from graph_planner_ros.benchmarks.worlds.environments import find_python
from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.textworld import LIST, TextworldWorld
from graph_planner_ros.benchmarks.worlds.textworld_games import cleaning_plan, make_games
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.planning.relevance import relevance
from graph_planner_ros.planning.supposing import Evidence, missing_things

SERVERS = Path(process.__file__).parent / "servers"
FAKE = f"""
import os, sys
sys.path.insert(0, {str(SERVERS)!r})
from channel import serve
class Server:
    def do_reset(self, path):
        return {{**self.do_step("look"), "goal": "" if "silent" in path else "Find the coin."}}
    def do_step(self, command):
        if command == "die":
            os._exit(4)
        won, lost = command == "win", command == "lose"
        return {{"text": command, "commands": ["look"], "score": 0.5, "won": won, "lost": lost, "done": won or lost}}
serve(Server)
"""
# a room as TextWorld 1.7 describes it
KITCHEN = """
-= Kitchen =-
Well, here we are in the kitchen. Let's see what's in here.

What's that over there? It looks like it's a fridge. You see a closed oven right there by you. You can make out \
a table. The table is massive. On the table you see a cookbook. Look over there! a counter. On the counter you make \
out a raw red potato, a sliced fried red apple and a knife. Look out! It's a- oh, never mind, it's just a stove. But \
the thing is empty.

There is a closed frosted-glass door leading west. There is a closed American gate leading north. There is an \
exit to the east. Don't worry, it is unguarded. You need an unblocked exit? You should try going south.

>                                                                           -= Kitchen =-0/1"""
COMMANDS = (
    "examine cookbook", "examine counter", "examine fridge", "examine knife", "examine oven", "examine American gate",
    "examine red apple", "examine red potato", "examine stove", "examine table", "examine wine", "drop wine", "go east",
    "go south", "inventory", "look", "open fridge", "open frosted-glass door", "open oven", "take cookbook from table",
    "take knife from counter", "take red apple from counter", "take red potato from counter",
)  # fmt: skip


@pytest.fixture(scope="module")
def language() -> Language:
    return load_language("textworld")


def read(language: Language, text: str, commands: tuple[str, ...] = (), before: TextBelief | None = None) -> TextBelief:
    belief = before or TextBelief(language.domain)
    belief.tell(language.parser.parse(text, Context(belief.objects(), belief.location(), "", commands)))
    return belief


def told(belief: TextBelief) -> set[str]:
    return {str(atom) for atom in belief.state().atoms}


def play(language: Language, game: SmallKitchen, limit: int = 60) -> tuple[str, float, int]:
    spec = GameSpec("textworld", "small", "cooking", "test", limit)
    record = TextAgent(language.domain, language.parser, language.grounder).play(game, spec)
    return record.status, record.score, record.steps_taken


# ---- reading


def test_a_room_and_its_commands_become_facts(language: Language) -> None:
    facts = told(read(language, KITCHEN, COMMANDS))
    assert {
        "at(Kitchen)", "observed(Kitchen)", "cooking_room(Kitchen)", "part_of(fridge, Kitchen)", "closed(fridge)",
        "in(stove, Kitchen)", "fries(stove)", "in(oven, Kitchen)", "in(cookbook, table)", "in(red potato, counter)",
        "in(red apple, counter)", "sliced(red apple)", "cut(red apple)", "fried(red apple)", "cooked(red apple)",
        "exit_of(Kitchen east, Kitchen)", "free(Kitchen east)", "towards(Kitchen south, south)", "holding(wine)",
        "closed(frosted-glass door)", "door_of(frosted-glass door, Kitchen west)",
    } <= facts  # fmt: skip
    assert "cooked(red potato)" not in facts


def test_what_is_closed_and_cannot_be_opened_is_locked(language: Language) -> None:
    facts = told(read(language, KITCHEN, COMMANDS))
    assert "locked(American gate)" in facts
    assert "locked(frosted-glass door)" not in facts
    assert "barred(beyond Kitchen north)" in facts
    assert "barred(beyond Kitchen west)" not in facts


def test_a_key_fits_the_lock_of_its_name(language: Language) -> None:
    belief = read(language, KITCHEN, (*COMMANDS, "drop American latchkey", "examine American latchkey"))
    assert "matches(American latchkey, American gate)" in told(belief)


def test_a_key_in_hand_that_is_not_offered_does_not_fit(language: Language) -> None:
    belief = read(language, KITCHEN, (*COMMANDS, "drop rusty key", "examine rusty key"))
    assert "mismatch(rusty key, American gate)" in told(belief)


@pytest.mark.parametrize(
    "text",
    ["", "   \n\n", "Nothing happens.", "<html><body>-= Kitchen =-\n</body></html>", "La cuisine est vide.",
     "You see a gizmo on the flurb.", "x" * 200_000, "There is a closed "],
)  # fmt: skip
def test_foreign_words_are_no_facts(language: Language, text: str) -> None:
    parsed = language.parser.parse(text, Context())
    assert not [fact for fact in parsed.facts if fact.atom.predicate in ("at", "exit_of", "closed")]


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        (GOAL, ["read(Cookbook)"]),
        ("First off, travel west. Then, recover the passkey from the bench. That's it!",
         ["exit_of(?, {here})", "towards(?, west)", "leads_to(?, ?)", "at(?)", "holding(passkey)"]),
        ("Then, retrieve the old key from the antique trunk. That done, rest the milk on the stove inside the kitchen.",
         ["holding(old key)", "lies_on(milk, stove)"]),
        ("Your task for today is to recover the coin from the floor of the bedroom.", ["holding(coin)"]),
        ("Insert the key into the gate's lock. Then, pick-up the latchkey from the floor.",
         ["door_of(gate, ?)", "not locked(gate)", "holding(latchkey)"]),
        ("Sing a song.", []),
        ("", ["at(Unexplored)"]),
        # the engine's grammar of instructions, step by step, blended and in its plain theme
        ("First stop, you can put the glass into the display within the cellar.", ["in(glass, display)"]),
        ("Then, place the used cane on the floor of the bar.", ["in(used cane, bar)"]),
        ("After placing the egg on the bed, make absolutely sure that the old chest in the attic is wide open.",
         ["part_of(old chest, ?)", "not closed(old chest)"]),
        ("And then, doublecheck that the old chest in the attic is unlocked.",
         ["part_of(old chest, ?)", "not locked(old chest)"]),
        ("Unlock the red locker within the old attic with the red key.",
         ["part_of(red locker, ?)", "not locked(red locker)"]),
        ("Lock the American gate with the American passkey.", ["locked(American gate)"]),
        ("Put the key into the red box to lock it.", ["locked(red box)"]),
        ("Make sure that the red box inside the attic is shut.", ["closed(red box)"]),
        ("Ensure that the gate is open.", ["door_of(gate, ?)", "not closed(gate)"]),
        ("Put the lightbulb inside the chest in the cubicle.", ["in(lightbulb, chest)"]),
        ("Close chest after placing the egg in it.", ["in(egg, chest)", "closed(chest)"]),
        ("Open the locked safe using the key and take the egg.",
         ["part_of(safe, ?)", "not closed(safe)", "holding(egg)"]),
        ("From in the closed box, take the egg.", ["holding(egg)"]),
        ("Take the egg from within the locked ugly box.", ["holding(egg)"]),
        ("Take the key and use it to unlock the safe.", ["part_of(safe, ?)", "not locked(safe)"]),
        ("Eat the old egg. Alright, thanks!", ["eaten(old egg)"]),
        ("First, open box6. Next, insert thing26 into box0. Next, drop thing3 in room4. Next, unlock door4 with key3.",
         ["part_of(box6, ?)", "not closed(box6)", "in(thing26, box0)", "in(thing3, room4)", "door_of(door4, ?)",
          "not locked(door4)"]),
    ],
)  # fmt: skip
def test_objectives_become_goals(language: Language, goal: str, wanted: list[str]) -> None:
    found = language.parser.goals(goal, Context())
    texts = []
    for item in found:
        called = {v.name: v.instance or v.class_name or "?" for v in item.variables}
        texts += [
            f"{'' if li.positive else 'not '}{li.predicate}({', '.join(called.get(a, a) for a in li.arguments)})"
            for li in item.literals
        ]
    assert texts == wanted


@pytest.mark.parametrize("longer", ["dumbbell stand", "dumbbell rack", "dumbbell box 2"])
def test_a_name_that_starts_with_another_is_not_taken_for_it(language: Language, longer: str) -> None:
    belief = read(language, "-= Gym =-\n", ("examine dumbbell", "take dumbbell", f"examine {longer}"))
    assert {"in(dumbbell, Gym)", f"part_of({longer}, Gym)"} <= told(belief)


def test_what_commands_tell_of_exits_is_believed(language: Language) -> None:
    belief = read(language, "-= Gym =-\nThere are unguarded exits to the south and west.\n", ("go south", "go west"))
    assert {"leads_to(Gym south, beyond Gym south)", "leads_to(Gym west, beyond Gym west)"} <= told(belief)


def test_what_is_ambiguous_is_said_without_what_it_is_in(language: Language) -> None:
    take = action("take_from", "key", "locker", "Gym", "n0", "n0")
    first = "take key from locker"
    offered = Context(commands=(first, "look"))
    assert language.grounder.ground(take, offered).command == first
    assert language.grounder.ground(take, replace(offered, refused="go east")).command == first
    assert language.grounder.ground(take, replace(offered, refused=first)).command == "take key"
    assert language.parser.parse("Which do you mean, the locker or the red locker?", offered).failed


def test_nothing_is_shut_on_the_way(language: Language) -> None:
    belief = read(language, "-= Gym =-\nThe red box contains an egg.\n", ("close red box", "take egg from red box"))
    state = belief.state()
    for wanted, helps in (("holding", False), ("closed", True)):
        name = {"holding": "egg", "closed": "red box"}[wanted]
        goal = Goal((GoalVariable("?x", state.objects[name], None, name),), (GoalLiteral(wanted, ("?x",)),))
        assert ("close" in relevance(language.domain, state, goal).actions) is helps


def test_what_is_cut_already_needs_no_knife(language: Language) -> None:
    commands = ("examine carrot", "take carrot from table", "take egg from table")
    belief = read(language, "-= Kitchen =-\nOn the table you see a sliced carrot and an egg.\n", commands)
    state = belief.state()
    names = ("carrot", "egg")
    variables = tuple(GoalVariable(f"?{name}", state.objects[name], None, name) for name in names)
    sliced = GoalLiteral("sliced", ("?carrot",))
    for held, needs in ((sliced, False), (GoalLiteral("diced", ("?egg",)), True)):
        goal = Goal(variables, (held, GoalLiteral("holding", ("?egg",))))
        missing = missing_things(language.domain, state, goal, Evidence())
        assert any("cuts" in item.need for item in missing) is needs


def test_a_world_that_offers_more_than_it_allows_teaches_its_limit(language: Language) -> None:
    commands = ("drop egg", "drop milk", "take flour", "examine flour")
    belief = read(language, "-= Gym =-\n", commands)
    assert "load(n0)" in told(belief)
    read(language, "You're carrying too many things already.\n\n> -= Gym =-0/3", commands, belief)
    assert {"load(n2)", "next(n1, n2)"} <= told(belief)
    assert "next(n2, n3)" not in told(belief)


def test_what_lies_on_a_stove_is_there(language: Language) -> None:
    belief = read(language, "-= Kitchen =-\n", ("examine stove", "take egg from stove"))
    assert "lies_on(egg, stove)" in told(belief)
    assert "egg" in belief.state().objects


# ---- rooms that nobody has seen


def test_an_exit_leads_to_a_placeholder_until_it_is_taken(language: Language) -> None:
    belief = read(language, "-= Hall =-\nThere is an exit to the east.\n")
    assert "leads_to(Hall east, beyond Hall east)" in told(belief)
    assert "searchable(beyond Hall east)" in told(belief)
    walk = belief.next_step(next(a for a in [action("go_to", "Hall", "beyond Hall east")]))
    assert str(walk) == "go(Hall, beyond Hall east, Hall east, east)"
    belief.apply(walk)
    read(language, "-= Attic =-\nThere is an exit to the west. There is an exit to the south.\n", before=belief)
    facts = told(belief)
    assert {"leads_to(Hall east, Attic)", "leads_to(Attic west, Hall)"} <= facts
    assert not any("beyond Hall" in fact for fact in facts)
    assert "leads_to(Attic south, beyond Attic south)" in facts


def test_two_exits_to_one_room_are_merged(language: Language) -> None:
    belief = read(language, "-= Attic =-\nThere is an exit to the east. There is an exit to the north.\n")
    for room, exits, way in (
        ("Bath", "west north", "east"),
        ("Cave", "south west", "north"),
        ("Den", "east south", "west"),
    ):
        here = belief.location()
        belief.apply(belief.next_step(action("go_to", here, f"beyond {here} {way}")))
        text = " ".join(f"There is an exit to the {word}." for word in exits.split(" "))
        read(language, f"-= {room} =-\n{text}\n", before=belief)
    # the den lies north of the attic, whose own way north is known when somebody comes from there
    belief.apply(belief.next_step(action("go_to", "Den", "beyond Den south")))
    read(language, "-= Attic =-\nThere is an exit to the east. There is an exit to the north.\n", before=belief)
    assert {"leads_to(Attic north, Den)", "leads_to(Den south, Attic)"} <= told(belief)
    assert not any("beyond" in fact for fact in told(belief))


def test_who_does_not_get_through_has_not_arrived(language: Language) -> None:
    text = "-= Hall =-\nThere is an exit to the east.\n"
    belief = read(language, text)
    belief.apply(belief.next_step(action("go_to", "Hall", "beyond Hall east")))
    read(language, text, before=belief)
    assert "leads_to(Hall east, beyond Hall east)" in told(belief)


# ---- playing


def action(name: str, *arguments: str):
    from graph_planner_ros.domain.symbols import GroundAction

    return GroundAction(name, arguments)


def test_a_meal_is_cooked_by_the_recipe(language: Language) -> None:
    game = SmallKitchen()
    assert play(language, game)[:2] == ("won", 1.0)
    assert sum(command.startswith("cook carrot") for command in game.commands) == 1
    assert not any(command.startswith("eat") and command != "eat meal" for command in game.commands)


def test_the_limit_of_what_can_be_carried_is_learned(language: Language) -> None:
    status, _, steps = play(language, SmallKitchen(capacity=2))
    assert (status, steps < 30) == ("won", True)


def test_what_is_carried_is_looked_at_before_it_is_cut(language: Language) -> None:
    game = SmallKitchen(carried=("carrot", "red apple"))
    assert play(language, game)[0] == "won"
    assert "inventory" in game.commands
    assert not any(command.startswith(("slice", "chop")) and "carrot" in command for command in game.commands)


class Silent(SmallKitchen):
    """The small kitchen without a word of what is to be done."""

    def _answer(self, text: str) -> Observation:
        found = super()._answer(text)
        return Observation(found.text, found.commands, "", found.status)


def test_who_is_not_told_what_to_do_looks_around(language: Language) -> None:
    game = Silent()
    play(language, game, 4)
    assert game.commands[:2] == ["open wooden door", "go east"]


class Corridor:
    """Three rooms in a row; who is in the last one and has shut the box there has won."""

    ROOMS = ("Hall", "Attic", "Den")
    GOAL = "First, go east. Then, try to travel east. That done, lock the red box with the red key."

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.reset()

    def reset(self) -> Observation:
        self._room, self._box = 0, "open"
        return self._answer()

    def step(self, command: str) -> Observation:
        self.commands.append(command)
        self._room += {"go east": 1, "go west": -1}.get(command, 0)
        self._box = {"close red box": "closed", "open red box": "open"}.get(command, self._box)
        if command.startswith("lock"):
            self._box = "locked"
        return self._answer()

    def close(self) -> None:
        """Nothing to end."""

    def _answer(self) -> Observation:
        commands = ["inventory", "look", "drop red key", "examine red key"]
        commands += ["go east"] if self._room < 2 else ["examine red box"]
        commands += ["go west"] if self._room else []
        if self._room == 2:
            commands += {"open": ["close red box"], "closed": ["open red box", "lock red box with red key"]}.get(
                self._box, ["unlock red box with red key"]
            )
        status = GameStatus.WON if self._box == "locked" else GameStatus.RUNNING
        return Observation(f"-= {self.ROOMS[self._room]} =-\n", tuple(commands), self.GOAL, status)


def test_instructions_are_followed_step_by_step(language: Language) -> None:
    game = Corridor()
    spec = GameSpec("textworld", "small", "custom", "test", 20)
    record = TextAgent(language.domain, language.parser, language.grounder).play(game, spec)
    assert record.status == "won"
    assert game.commands == ["go east", "go east", "close red box", "lock red box with red key"]


def test_the_same_game_is_played_the_same_way_twice(language: Language) -> None:
    runs = []
    for _ in range(2):
        game = SmallKitchen(capacity=2)
        play(language, game)
        runs.append(game.commands)
    assert runs[0] == runs[1]


# ---- the adapter


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import sys

    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    monkeypatch.setattr(textworld, "SCRIPT", script)
    monkeypatch.setenv("GRAPH_PLANNER_TEXTWORLD_PYTHON", sys.executable)
    games = tmp_path / "games"
    games.mkdir()
    for name in ("coin_1", "silent_hunt"):
        (games / f"{name}.z8").touch()
    (games / LIST).write_text(json.dumps({"coin_1": {"family": "coin", "split": "easy", "limit": 7}}))
    return games


def test_games_of_a_folder_are_rows(fake: Path) -> None:
    specs = TextworldWorld(str(fake)).games("", (), None)
    assert [(s.name, s.group, s.split, s.limit) for s in specs] == [
        ("coin_1", "coin", "easy", 7),
        ("silent_hunt", "treasure", "all", 150),
    ]
    assert len(TextworldWorld(str(fake)).games("treasure", (1, 2), 9)) == 2
    with pytest.raises(ValueError, match="no split 'hard'; it has: all, coin, easy, treasure"):
        TextworldWorld(str(fake)).games("hard", (), None)


def test_no_games_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(WorldUnavailableError, match="textworld-games"):
        TextworldWorld(str(tmp_path)).games("", (), None)


def test_a_game_is_played_through_the_pipe(fake: Path) -> None:
    world = TextworldWorld(str(fake))
    for spec, goal in zip(world.games("", (), None), ("Find the coin.", "Find the treasure."), strict=True):
        game = world.open(spec)
        try:
            assert game.reset() == Observation("look", ("look",), goal, score=0.5)
            assert game.step("win").status is GameStatus.WON
            assert game.step("look").status is GameStatus.WON
            game.reset()
            lost = game.step("lose")
            assert (lost.status, lost.goal) == (GameStatus.LOST, goal)
            game.reset()
            assert game.step("die").status is GameStatus.CRASHED
        finally:
            game.close()


# ---- making games


@pytest.mark.parametrize("seed", range(5))
def test_houses_to_clean_are_consistent(seed: int) -> None:
    plan = cleaning_plan(seed, 6, 5)
    assert plan == cleaning_plan(seed, 6, 5)
    assert len(plan["homes"]) == 5
    rooms = {name: room for name, (_, room) in plan["furniture"].items()}
    for thing, home in plan["homes"].items():
        assert rooms.get(plan["things"][thing], plan["things"][thing]) != rooms[home]
    opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
    for name, exits in plan["rooms"].items():
        assert exits
        assert all(plan["rooms"][other][opposite[way]] == name for way, other in exits.items())


def test_unknown_families_and_levels_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no family 'chess'"):
        make_games(tmp_path, "chess", "hard", 1)
    with pytest.raises(ValueError, match="no level 'absurd'"):
        make_games(tmp_path, "cooking", "absurd", 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "level"), [("cooking", "medium"), ("treasure", "easy"), ("coin", "5"), ("cleaning", "easy")]
)
def test_real_games_are_made_and_won(tmp_path: Path, language: Language, family: str, level: str) -> None:
    try:
        find_python("textworld")
    except WorldUnavailableError as error:
        pytest.skip(str(error))
    make_games(tmp_path, family, level, 1, seed=3)
    world = TextworldWorld(str(tmp_path))
    (spec,) = world.games("", (), None)
    game = world.open(spec)
    try:
        record = TextAgent(language.domain, language.parser, language.grounder).play(game, spec)
    finally:
        game.close()
    assert (record.status, record.score) == ("won", 1.0)


def test_nothing_is_eaten_just_to_see_what_happens(language: Language) -> None:
    class Riddle(SmallKitchen):
        def reset(self) -> Observation:
            super().reset()
            self._at["cookbook"] = "nowhere"
            return self._answer(self._describe())

        def _answer(self, text: str) -> Observation:
            found = super()._answer(text)
            return Observation(found.text, found.commands, "Sing a song.", found.status)

    game = Riddle(carried=("carrot", "knife"))
    assert play(language, game, 80)[0] == "running"
    assert not any(command.startswith(("eat", "slice", "chop", "cook")) for command in game.commands)
