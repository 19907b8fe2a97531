"""Gives a bundle of one voice more of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from build_engines.networks.latent_codec import LatentCodec
from build_engines.pointer.build import PointerBuild, PointerNetworks


@dataclass(frozen=True)
class NewVoices:
    """Voices that a bundle is to have besides its first one.

    Attributes:
        timbre: weights of a `TimbredTail`.
        timbre_width: numbers of a voice vector that shape the timbre.
        voices: what `voices/<name>.json` says of every voice, the first one included, by name.
    """

    timbre: Mapping[str, torch.Tensor]
    timbre_width: int
    voices: Mapping[str, Mapping[str, Any]]

    def added_to(self, build: PointerBuild) -> PointerBuild:
        """Return a build with these voices in the place of all but the first; its networks stay as they are."""
        before = build.networks.codec
        codec = LatentCodec(replace(before.config, timbre_width=self.timbre_width))
        timbre = {f"timbre.{name}": tensor for name, tensor in self.timbre.items()}
        codec.load_state_dict(before.state_dict() | timbre)
        return replace(build, networks=PointerNetworks(codec.eval(), build.networks.talker), voices=dict(self.voices))
