"""Segmentation behind one interface: a simulator's instance image now, learned segmenters beside it later."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from graph_planner_ros.perception.frame import Detection, Frame, FrameError, window

MIN_PIXELS = 25


class Segmenter(Protocol):
    """Finds things in images."""

    def segment(self, frame: Frame) -> list[Detection]:
        """Return the things that are seen in a frame, each with its mask."""
        ...


class InstanceImageSegmenter:
    """Takes the masks from an instance image whose values are explained by labels.

    Values without a label, with an empty label (the robot itself) or with fewer than ``min_pixels`` are no
    detections. Values are no identities: they may be dealt anew in every image.
    """

    def __init__(self, min_pixels: int = MIN_PIXELS) -> None:
        if min_pixels < 1:
            raise ValueError(f"min_pixels must be at least 1, got {min_pixels}")
        self._min_pixels = min_pixels

    def segment(self, frame: Frame) -> list[Detection]:
        """Return one detection for each labelled value of the frame's instance image.

        Raises:
            FrameError: if the frame has no instance image or no labels.
        """
        if frame.instances is None or frame.labels is None:
            missing = "instance image" if frame.instances is None else "labels for its instance image"
            raise FrameError(f"the frame at {frame.stamp:.3f} s has no {missing}")
        found: list[Detection] = []
        for value, label in sorted(frame.labels.items()):
            if not label.label:
                continue
            mask = frame.instances == value
            if int(np.count_nonzero(mask)) < self._min_pixels:
                continue
            found.append(Detection(label.label, label.part, 1.0, mask, tuple(label.attributes), window(mask)))
        return found
