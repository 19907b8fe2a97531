"""`python -m build_engines`: makes voice bundles and proves them."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from build_engines.errors import CheckpointError, ParityError
from build_engines.graph.storage import Storage
from build_engines.recipes import PointerRecipe
from build_engines.tiny import make_tiny_bundle
from trt_engines.errors import EngineError
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest
from trt_engines.manifest_writing import write_manifest

_EXAMPLES = """examples:
  python -m build_engines tiny build/tiny
  python -m build_engines pointer build/voice --codec codec.pt --talker talker.pt --id my-voice
  python -m build_engines fish-speech-1.5 --checkpoint fish-speech-1.5 --out build/fish
  python -m build_engines verify voices/default --codec codec.pt --talker talker.pt
  python -m build_engines rebuild voices/default
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(
        "python -m build_engines", description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_tiny(commands.add_parser("tiny", help="write the seeded, untrained bundle that tests run on"))
    _add_pointer(commands.add_parser("pointer", help="build and prove a bundle from a codec and a talker checkpoint"))
    _add_fish_speech(commands.add_parser("fish-speech-1.5", help="build and prove a bundle from the released files"))
    _add_verify(commands.add_parser("verify", help="prove a bundle again and write the results into its manifest"))
    _add_rebuild(commands.add_parser("rebuild", help="make the graphs anew from the weights they hold, and prove them"))
    _add_half_precision(commands.add_parser("half-precision", help="compare float16 with float32, into the manifest"))
    chosen = parser.parse_args(arguments)
    try:
        chosen.command(chosen)
    except (CheckpointError, EngineError, FileExistsError, FileNotFoundError, ParityError) as error:
        raise SystemExit(str(error)) from error


def _add_tiny(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="directory to write")
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default 0)")
    parser.set_defaults(command=lambda chosen: _report(make_tiny_bundle(chosen.bundle, chosen.seed), chosen.bundle))


def _add_pointer(parser: argparse.ArgumentParser) -> None:
    _add_checkpoints(parser)
    parser.add_argument("--id", default="antiphon-voice", help="id of the bundle (default antiphon-voice)")
    parser.add_argument("--voice", default="default", help="name of its voice (default: default)")
    parser.add_argument("--description", default="", help="a sentence about the voice")
    parser.set_defaults(command=_build_pointer)


def _add_fish_speech(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", type=Path, required=True, help="directory of the released files")
    parser.add_argument("--out", type=Path, required=True, help="directory of the bundle")
    parser.add_argument("--id", default="fish-speech-1.5", help="id of the bundle (default fish-speech-1.5)")
    parser.add_argument(
        "--upstream-compat", action="store_true", help="repeat the original's known mistakes, to be compared with it"
    )
    for option, part in (("storage", "talker"), ("codec-storage", "codec")):
        parser.add_argument(
            f"--{option}",
            type=Storage,
            choices=list(Storage),
            default=Storage.FLOAT32,
            help=f"how the weights of the {part} are kept (default float32)",
        )
    parser.set_defaults(command=_build_fish_speech)


def _add_verify(parser: argparse.ArgumentParser) -> None:
    _add_checkpoints(parser)
    parser.set_defaults(command=_verify)


def _add_rebuild(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="directory of a bundle with the sizes of the default voice")
    parser.add_argument("--out", type=Path, help="directory to write (default: the bundle itself)")
    parser.set_defaults(command=_rebuild)


def _add_half_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="directory of the bundle, with golden vectors")
    parser.set_defaults(command=_compare_half_precision)


def _add_checkpoints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="directory of the bundle")
    parser.add_argument("--codec", type=Path, required=True, help="checkpoint of the codec")
    parser.add_argument("--talker", type=Path, required=True, help="checkpoint of the talker")
    for part in ("talker", "vocoder"):
        parser.add_argument(
            f"--{part}-storage",
            type=Storage,
            choices=list(Storage),
            default=Storage.PACKED,
            help=f"how the weights of the {part} are kept (default packed)",
        )


def _build_pointer(chosen: argparse.Namespace) -> None:
    from build_engines.pointer.build import PointerBuild, PointerNetworks  # torch is slow to load and tiny needs none

    voice = {"language_codes": ["en-US"], "gender": "neutral", "description": chosen.description}
    build = PointerBuild(
        PointerNetworks.load(chosen.codec, chosen.talker),
        chosen.id,
        {chosen.voice: voice},
        chosen.talker_storage,
        chosen.vocoder_storage,
    )
    _report(build.write(chosen.bundle), chosen.bundle)


def _build_fish_speech(chosen: argparse.Namespace) -> None:
    from build_engines.fish_speech.build import FishBuild  # torch is slow to load and tiny needs none

    build = FishBuild(
        chosen.checkpoint, chosen.id, chosen.storage, chosen.codec_storage, upstream_compat=chosen.upstream_compat
    )
    _report(build.write(chosen.out), chosen.out)


def _verify(chosen: argparse.Namespace) -> None:
    from build_engines.pointer.build import PointerNetworks  # torch is slow to load and tiny needs none

    networks = PointerNetworks.load(chosen.codec, chosen.talker)
    verifier = networks.verifier(chosen.bundle, PointerRecipe(), chosen.talker_storage, chosen.vocoder_storage)
    proven = dataclasses.replace(verifier.manifest, verification=verifier.verify())
    _report(write_manifest(chosen.bundle, proven), chosen.bundle)


def _rebuild(chosen: argparse.Namespace) -> None:
    from build_engines.pointer.rebuild import rebuild  # torch is slow to load and tiny needs none

    out = chosen.out or chosen.bundle
    _report(rebuild(chosen.bundle, out), out)


def _compare_half_precision(chosen: argparse.Namespace) -> None:
    from build_engines.tensorrt.half_parity import BACKEND, half_parity

    results = half_parity(chosen.bundle)
    manifest = load_manifest(chosen.bundle)
    others = tuple(result for result in manifest.verification if result.backend != BACKEND)
    _report(
        write_manifest(chosen.bundle, dataclasses.replace(manifest, verification=(*others, *results))), chosen.bundle
    )


def _report(manifest: Manifest, bundle_dir: Path) -> None:
    sizes = [path.stat().st_size for path in bundle_dir.rglob("*") if path.is_file()]
    print(f"{bundle_dir}: bundle {manifest.id}, {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB")
    for result in manifest.verification:
        print(f"  {result.graph}, {result.case}: {result.worst_error:.3g} (allowed {result.tolerance:.3g})")


if __name__ == "__main__":
    main()
