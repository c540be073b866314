"""What the robot feels: contacts of its fingers, of its hand, and of the thing in it."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.sim.robot_model import CARRY_WELDS


class Touch:
    """Reads the contacts of the physics as the robot's sense of touch.

    Attributes:
        body_ids: bodies of the robot itself.
        hand_geoms: shapes of fingers, palm and wrist.
        held: body in the hand. carried: bodies that lie in it.
    """

    def __init__(self, model: Any, data: Any) -> None:
        self.model, self.data = model, data
        base, self._hand = model.body("base_link").id, model.body("gripper").id
        self.body_ids = frozenset(i for i in range(model.nbody) if model.body_rootid[i] == base)
        self._fingers = {side: model.geom(f"robot_finger_{side}").id for side in ("left", "right")}
        others = (model.geom(f"robot_{part}").id for part in ("palm", "hand", "wrist"))
        self.hand_geoms = [*self._fingers.values(), *others]
        self.held: int | None = None
        self.carried: list[int] = []

    def root(self, body: int) -> int:
        """The topmost body that this one is part of."""
        return int(self.model.body_rootid[body])

    def is_loose(self, body: int) -> bool:
        """True for bodies that can be moved about, so neither robot nor fixture."""
        joint = int(self.model.body_jntadr[self.root(body)])
        return joint >= 0 and bool(self.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE)

    def contacts(self) -> list[tuple[int, int]]:
        """Pairs of geoms that touch."""
        count = self.data.ncon
        return [(int(a), int(b)) for a, b in self.data.contact.geom[:count]] if count else []

    def _body(self, geom: int) -> int:
        return int(self.model.geom_bodyid[geom])

    def fingers(self) -> dict[str, set[int]]:
        """Side -> loose bodies that press against the inside of this finger."""
        touching: dict[str, set[int]] = {"left": set(), "right": set()}
        axis = self.data.xmat[self._hand].reshape(3, 3)[:, 1]
        for index, pair in enumerate(self.contacts()):
            for side, geom in self._fingers.items():
                if geom not in pair:
                    continue
                other = self._body(pair[1] if pair[0] == geom else pair[0])
                contact = self.data.contact[index]
                inward = -1.0 if side == "left" else 1.0
                offset = float((contact.pos - self.data.geom_xpos[geom]) @ axis) * inward
                along = abs(float(contact.frame[:3] @ axis))
                if self.is_loose(other) and offset > 0 and along > 0.6:
                    touching[side].add(self.root(other))
        return touching

    def met_by(self) -> NDArray[np.float64]:
        """Unit vector (2,) in the map from the middle of the hand to the one finger that touches something.

        Zero if both do, or none.
        """
        touching = {geom for pair in self.contacts() for geom in pair}
        met = [geom for geom in self._fingers.values() if geom in touching]
        if len(met) != 1:
            return np.zeros(2)
        left, right = (self.data.geom_xpos[geom][:2] for geom in self._fingers.values())
        toward = left - right if met[0] == self._fingers["left"] else right - left
        return np.asarray(toward / max(float(np.linalg.norm(toward)), 1e-6))

    def hand(self) -> bool:
        """True if hand or held thing touches anything but each other and what is carried in it."""
        mine: set[int | None] = {*self.body_ids, self.held, *self.carried} - {None}
        for pair in self.contacts():
            ours = [self._body(g) in mine or self.root(self._body(g)) in mine for g in pair]
            if ours[0] == ours[1]:
                continue
            geom = pair[0] if ours[0] else pair[1]
            if geom in self.hand_geoms or self.root(self._body(geom)) == self.held:
                return True
        return False

    def by_held(self) -> list[str]:
        """Names of the loose bodies that the held thing touches."""
        names = set()
        for pair in self.contacts():
            roots = [self.root(self._body(geom)) for geom in pair]
            for here, other in (roots, roots[::-1]):
                if here == self.held and other not in self.body_ids and self.is_loose(other):
                    names.add(str(self.model.body(other).name))
        return sorted(names)

    def blocked_by(self) -> str:
        """What the robot, or the thing in its hand, presses against, in words; for reasons of failures."""
        mine = {self.held, *self.carried}
        pairs = set()
        for geoms in self.contacts():
            bodies = [self._body(geom) for geom in geoms]
            ours = [body in self.body_ids or self.root(body) in mine for body in bodies]
            if ours[0] != ours[1]:
                own, other = bodies if ours[0] else bodies[::-1]
                pairs.add(f"{self.model.body(own).name} touches {self.model.body(other).name}")
        return "; ".join(sorted(pairs)) or "nothing that it feels"

    def lying_in(self, receptacle: int) -> list[int]:
        """Bodies that the receptacle supports (also through each other) and that lie above its floor."""
        pairs = [(self.root(self._body(a)), self.root(self._body(b))) for a, b in self.contacts()]
        both = [*pairs, *((b, a) for a, b in pairs)]
        inside, grown = {receptacle}, True
        while grown:
            new = {other for here, other in both
                   if here in inside and other not in inside and self._lies_over(other, receptacle)}  # fmt: skip
            inside |= new
            grown = bool(new)
        return sorted(inside - {receptacle})[:CARRY_WELDS]

    def _lies_over(self, body: int, receptacle: int) -> bool:
        if body in self.body_ids or not self.is_loose(body):
            return False
        offset = self.data.xipos[body] - self.data.xpos[receptacle]
        near = float(np.hypot(offset[0], offset[1])) < self._half_width(receptacle)
        return near and self._bottom(body) > self._bottom(receptacle) + 2e-3

    def _geoms_of(self, body: int) -> list[int]:
        return [g for g in range(self.model.ngeom) if self.root(self._body(g)) == body]

    def _half_width(self, body: int) -> float:
        data, bounds = self.data, self.model.geom_rbound
        return max(
            float(np.hypot(*(data.geom_xpos[g] - data.xpos[body])[:2]) + bounds[g]) for g in self._geoms_of(body)
        )

    def _bottom(self, body: int) -> float:
        return float(min(self.data.geom_xpos[g][2] - min(self.model.geom_aabb[g][3:]) for g in self._geoms_of(body)))
