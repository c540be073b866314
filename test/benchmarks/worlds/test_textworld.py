"""TextWorld: texts and commands as facts, unknown rooms, limits learned, games played; real ones where installed."""

from __future__ import annotations

import json
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
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import Language, load_language

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
        ("First off, travel west. Then, recover the passkey from the bench. That's it!", ["holding(passkey)"]),
        ("Then, retrieve the old key from the antique trunk. That done, rest the milk on the stove inside the kitchen.",
         ["holding(old key)", "lies_on(milk, stove)"]),
        ("Your task for today is to recover the coin from the floor of the bedroom.", ["holding(coin)"]),
        ("Insert the key into the gate's lock. Then, pick-up the latchkey from the floor.", ["holding(latchkey)"]),
        ("Sing a song.", []),
    ],
)  # fmt: skip
def test_objectives_become_goals(language: Language, goal: str, wanted: list[str]) -> None:
    found = language.parser.goals(goal, Context())
    texts = []
    for item in found:
        called = {v.name: v.instance or v.class_name or "" for v in item.variables}
        texts += [f"{li.predicate}({', '.join(called.get(a, a) for a in li.arguments)})" for li in item.literals]
    assert texts == wanted


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
        def _answer(self, text: str) -> Observation:
            found = super()._answer(text)
            return Observation(found.text, found.commands, "Sing a song.", found.status)

    game = Riddle(carried=("carrot", "knife"))
    assert play(language, game, 80)[0] == "running"
    assert not any(command.startswith(("eat", "slice", "chop", "cook")) for command in game.commands)
