"""A house of two rooms that talks like TextWorld's cooking game, for tests without the engine."""

from __future__ import annotations

from graph_planner_ros.benchmarks.worlds.game import GameStatus, Observation

GOAL = (
    "You are hungry! Let's cook a delicious meal. Check the cookbook in the kitchen for the recipe. "
    "Once done, enjoy your meal!"
)
COOKBOOK = """
You open the copy of "Cooking: A Modern Approach (3rd Ed.)" and start reading:

Recipe #1
---------
Gather all following ingredients and follow the directions to prepare this tasty meal.

Ingredients:
carrot
  red apple

Directions:
slice the carrot
  fry the carrot
  chop the red apple
  prepare meal

"""
START = {"cookbook": "table", "knife": "counter", "carrot": "fridge", "red apple": "Hall", "milk": "fridge"}


class SmallKitchen:
    """The game. What cannot be undone and is wrong loses it.

    Args:
        capacity: how many things can be carried.
        carried: things that are carried at the start; the carrot is sliced then.
    """

    def __init__(self, capacity: int = 9, carried: tuple[str, ...] = ()) -> None:
        self._capacity = capacity
        self._carried = carried
        self.commands: list[str] = []
        self.reset()

    def reset(self) -> Observation:
        """Start anew."""
        self._room, self._fridge_open, self._door_open = "Hall", False, False
        self._at = {**START, **dict.fromkeys(self._carried, "hand")}
        self._states: dict[str, list[str]] = {name: [] for name in START}
        if "carrot" in self._carried:
            self._states["carrot"] = ["sliced"]
        self._meal, self._status = "", GameStatus.RUNNING
        return self._answer(self._describe())

    def step(self, command: str) -> Observation:
        """Carry out a command."""
        self.commands.append(command)
        if command not in self._admissible():
            return self._answer("That's not a verb I recognise.")
        words = command.split(" ")
        if command in ("look", "go east", "go west"):
            self._room = {"go east": "Kitchen", "go west": "Hall"}.get(command, self._room)
            return self._answer(self._describe())
        if words[0] == "take":
            self._at[command.removeprefix("take ").split(" from ")[0]] = "hand"
        elif words[0] == "drop":
            self._at[command.removeprefix("drop ")] = self._room
        elif words[0] in ("slice", "chop"):
            self._states[command.removeprefix(f"{words[0]} ").split(" with ")[0]].append(
                {"slice": "sliced", "chop": "chopped"}[words[0]]
            )
        elif words[0] == "cook":
            thing = command.removeprefix("cook ").split(" with ")[0]
            self._states[thing].insert(0, "fried" if "fried" not in self._states[thing] else "burned")
        elif words[0] == "eat":
            self._status = GameStatus.WON if words[1] == "meal" else GameStatus.LOST
        elif command == "open wooden door":
            self._door_open = True
        elif command == "open fridge":
            self._fridge_open = True
            return self._answer("You open the fridge, revealing " + self._list("fridge") + ".")
        elif command == "prepare meal":
            return self._prepare()
        elif command == "examine cookbook":
            return self._answer(COOKBOOK)
        elif command == "inventory":
            return self._answer(f"You are carrying: {self._list('hand') or 'nothing'}.")
        return self._answer("Done.")

    def close(self) -> None:
        """Nothing to end."""

    def _prepare(self) -> Observation:
        ready = {"carrot": ["fried", "sliced"], "red apple": ["chopped"]}
        if any(sorted(self._states[name]) != state or self._at[name] != "hand" for name, state in ready.items()):
            return self._answer("You still miss something.")
        for name in ready:
            self._at[name] = "nowhere"
        self._meal = "hand"
        return self._answer("Adding the meal to your inventory.")

    def _list(self, place: str) -> str:
        names = [" ".join(["a", *self._states[name], name]) for name, where in self._at.items() if where == place]
        return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)

    def _describe(self) -> str:
        if self._room == "Hall":
            door = "an open" if self._door_open else "a closed"
            text = f"You've entered a hall.\n\nThere is {door} wooden door leading east."
        else:
            text = "You find yourself in a kitchen. An usual one.\n\nYou see a fridge. "
            if self._fridge_open:
                text += f"The fridge contains {self._list('fridge')}. "
            text += "Look out! It's a- oh, never mind, it's just a stove. You can make out a table. "
            for place in ("table", "counter"):
                text += f"On the {place} you can make out {self._list(place)}. " if self._list(place) else ""
            text += "\n\nThere is an open wooden door leading west."
        floor = f"\n\nThere is {self._list(self._room)} on the floor." if self._list(self._room) else ""
        return f"-= {self._room} =-\n{text}{floor}\n"

    def _admissible(self) -> list[str]:
        held = [name for name, where in self._at.items() if where == "hand"]
        found = ["inventory", "look", *(f"drop {name}" for name in held)]
        near = {self._room: ""}
        if self._room == "Hall":
            found += ["go east"] if self._door_open else ["open wooden door"]
        else:
            near |= {"table": " from table", "counter": " from counter"}
            found += ["go west", "examine fridge", "examine stove", "examine table", "examine counter", "close fridge"]
            if not self._fridge_open:
                found[-1] = "open fridge"
            else:
                near["fridge"] = " from fridge"
            found += [f"cook {name} with stove" for name in held if name in ("carrot", "red apple")]
            found += ["prepare meal"]
        if len(held) < self._capacity:
            found += [f"take {name}{near[where]}" for name, where in self._at.items() if where in near]
        if self._at["cookbook"] in (*near, "hand"):
            found.append("examine cookbook")
        for name in ("carrot", "red apple"):
            if name in held and "knife" in held and not {"sliced", "chopped"} & set(self._states[name]):
                found += [f"slice {name} with knife", f"chop {name} with knife"]
            if name in held:
                found.append(f"eat {name}")
        return [*found, "eat meal"] if self._meal else found

    def _answer(self, text: str) -> Observation:
        text = f"{text}\n\n>      -= {self._room} =-0/{len(self.commands)}"
        score = float(self._status is GameStatus.WON)
        return Observation(text, tuple(self._admissible()), GOAL, self._status, "", score)
