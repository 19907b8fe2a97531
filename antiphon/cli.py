"""The command line: what the commands and their options are called. Each does its work in a file of its own.

The files are imported when their command runs, so that `antiphon --help` is there at once.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

_EXAMPLES = """\b
Examples:
  antiphon demo                              hear it: a server, one sentence, demo.wav
  antiphon serve                             serve the shipped voice on localhost:50051
  antiphon say "Good morning."               speak through the loudspeaker
  antiphon say "Good morning." -o out.wav    write a file
  ask-a-model | antiphon say -               speak text while it is being written
  antiphon voices                            what the server can speak with
  antiphon voices create anna anna.wav ...   let it speak like a recording
  antiphon bundle inspect voices/default     what a voice bundle holds
"""

app = typer.Typer(
    help=f"Text that is still being written becomes speech that is already being heard.\n\n{_EXAMPLES}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
voices_app = typer.Typer(invoke_without_command=True)
app.add_typer(voices_app, name="voices")
bundle_app = typer.Typer(help="Look at voice bundles.", no_args_is_help=True)
app.add_typer(bundle_app, name="bundle")

TensorrtBackend = Literal["tensorrt", "tensorrt-rtx"]
PlanPrecision = Literal["float16", "float32"]
Server = Annotated[str, typer.Option("--server", "-s", envvar="ANTIPHON_SERVER", help="Host and port of the server.")]
Key = Annotated[str, typer.Option(envvar="ANTIPHON_API_KEY", help="API key, if one is needed.", show_default=False)]
Tls = Annotated[bool, typer.Option("--tls", help="Talk to the server over TLS.")]
VoiceName = Annotated[
    str, typer.Option("--voice", "-v", help="Name of the voice; the server's default voice if empty.")
]
Bundle = Annotated[Path | None, typer.Option(help="Directory of a voice bundle; the shipped voice if left out.")]
Output = Annotated[Path | None, typer.Option("--out", "-o", help="WAV file to write; the loudspeaker if left out.")]


@app.command()
def serve(
    bundle: Bundle = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 0.0.0.0 opens it to the network.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the gRPC server; 0 takes any free one.")] = None,
    metrics_port: Annotated[int | None, typer.Option(help="Port for Prometheus; 0 takes any, -1 is off.")] = None,
    slots: Annotated[int | None, typer.Option(help="Segments spoken at the same time.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads; 0 takes all.")] = None,
    settings: Annotated[Path | None, typer.Option("--settings", "-c", help="TOML file with all the settings.")] = None,
    log_format: Annotated[str | None, typer.Option(help="console or json.")] = None,
) -> None:
    """Serve speech over gRPC until Ctrl-C or SIGTERM.

    Options win over variables such as ANTIPHON_LISTEN__PORT, and these over the settings file.
    """
    from antiphon import serve as command

    chosen = {
        "ANTIPHON_ENGINE__BUNDLE_DIR": bundle,
        "ANTIPHON_LISTEN__HOST": host,
        "ANTIPHON_LISTEN__PORT": port,
        "ANTIPHON_LISTEN__METRICS_PORT": metrics_port,
        "ANTIPHON_ENGINE__SLOT_COUNT": slots,
        "ANTIPHON_ENGINE__THREADS": threads,
        "ANTIPHON_LOG__FORMAT": log_format,
    }
    command.run(settings, {name: str(value) for name, value in chosen.items() if value is not None})


@app.command()
def say(
    text: Annotated[str, typer.Argument(help="What to speak; - speaks standard input while it is being written.")],
    out: Output = None,
    voice: VoiceName = "",
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same audio.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Small is steady, large is lively.")] = None,
    server: Server = "localhost:50051",
    api_key: Key = "",
    tls: Tls = False,
) -> None:
    """Speak a text, through the loudspeaker or into a WAV file. A server must be running: `antiphon serve`."""
    from antiphon import say as command

    options = command.speech_options(voice=voice, seed=seed, temperature=temperature, is_file=out is not None)
    command.run(server, command.connection(api_key, tls), text, options, out)


@voices_app.callback()
def voices(
    context: typer.Context,
    language: Annotated[str, typer.Option(help="Only voices that speak it, for example en.")] = "",
    server: Server = "localhost:50051",
    api_key: Key = "",
    tls: Tls = False,
) -> None:
    """List the voices of a server, or make and delete voices."""
    from antiphon import voices as command
    from antiphon.say import connection

    if context.invoked_subcommand is None:
        command.run(server, connection(api_key, tls), language)


@voices_app.command("create")
def voices_create(
    name: Annotated[str, typer.Argument(help="Name of the new voice: a-z, 0-9, - and _.")],
    recording: Annotated[Path, typer.Argument(help="WAV, FLAC, Ogg or MP3 file of the voice, 3 to 60 s.")],
    transcript: Annotated[str, typer.Option(help="The words spoken in the recording, exactly.")],
    speaker: Annotated[str, typer.Option(help="Who is heard in the recording.")],
    statement: Annotated[str, typer.Option(help="That person's permission, in their own words.")],
    given: Annotated[datetime | None, typer.Option(help="When it was given, in local time; now if left out.")] = None,
    language: Annotated[str, typer.Option(help="Language of the recording, for example en.")] = "",
    display_name: Annotated[str, typer.Option(help="Name for people.")] = "",
    description: Annotated[str, typer.Option(help="How the voice sounds.")] = "",
    server: Server = "localhost:50051",
    api_key: Key = "",
    tls: Tls = False,
) -> None:
    """Make a voice of a recording, with the consent of the person who is heard."""
    from antiphon import voices as command
    from antiphon.say import connection
    from antiphon_client.new_voice import Consent, NewVoice

    consent = Consent(speaker, statement, given or datetime.now(UTC))
    voice = NewVoice(name, transcript, consent, language, display_name, description)
    command.create(server, connection(api_key, tls), voice, recording)


@voices_app.command("delete")
def voices_delete(
    name: Annotated[str, typer.Argument(help="Name of the voice.")],
    server: Server = "localhost:50051",
    api_key: Key = "",
    tls: Tls = False,
) -> None:
    """Delete a voice that was made of a recording."""
    from antiphon import voices as command
    from antiphon.say import connection

    command.delete(server, connection(api_key, tls), name)


@app.command()
def demo(
    text: Annotated[str, typer.Option(help="What to speak.")] = (
        "Hello! I am Antiphon. You hear me while this sentence is still being made."
    ),
    out: Annotated[Path, typer.Option("--out", "-o", help="WAV file to write.")] = Path("demo.wav"),
    bundle: Bundle = None,
) -> None:
    """Start a server, speak a text word by word through it, write and play the sound, and stop."""
    from antiphon import demo as command

    command.run(text, out, bundle)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False)
def build(context: typer.Context) -> None:
    """Make and prove voice bundles. Needs the extra `build`; `antiphon build --help` lists what can be made."""
    from antiphon import build as command

    command.run(context.args)


@app.command("build-engines")
def build_engines(
    bundle: Annotated[Path, typer.Argument(help="Directory of the voice bundle.")],
    backend: Annotated[TensorrtBackend, typer.Option(help="The package that builds, and will run, the plans.")] = (
        "tensorrt"
    ),
    plans: Annotated[Path | None, typer.Option(help="Where plans are kept; `plans` in the bundle if left out.")] = None,
    slots: Annotated[int, typer.Option(min=1, max=4096, help="Segments spoken at the same time.")] = 32,
    target: Annotated[
        list[str] | None, typer.Option(help="GPU to build for, like sm89; this machine's if left out.")
    ] = None,
    precision: Annotated[PlanPrecision, typer.Option(help="Of weights, activations and caches.")] = "float16",
    max_positions: Annotated[int | None, typer.Option(min=1, help="Shorter caches than the voice has.")] = None,
    optimization_level: Annotated[int, typer.Option(min=0, max=5, help="Higher builds longer.")] = 3,
    hardware_compatible: Annotated[bool, typer.Option(help="Run on every GPU since Ampere, more slowly.")] = False,
    version_compatible: Annotated[bool, typer.Option(help="Be read by later versions of the package.")] = False,
) -> None:
    """Build the TensorRT plans of a bundle; plans that are still good are kept. Needs the extra `tensorrt`."""
    from antiphon import build_plans as command

    options = command.plan_options(
        backend, tuple(target or ()), precision, slots, max_positions, optimization_level,
        hardware_compatible=hardware_compatible, version_compatible=version_compatible,
    )  # fmt: skip
    command.run(bundle, plans, options)


@app.command()
def selftest(
    bundle: Bundle = None,
    backend: Annotated[Literal["onnxruntime", "tensorrt", "tensorrt-rtx"], typer.Option(help="What to test.")] = (
        "tensorrt"
    ),
    slots: Annotated[int, typer.Option(min=1, max=4096, help="Size of the largest batch.")] = 32,
    plans: Annotated[Path | None, typer.Option(help="Where plans are kept; `plans` in the bundle if left out.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the report.")] = Path("runs/selftest"),
) -> None:
    """Prove an engine on this machine: build its plans, compare it with ONNX Runtime, measure it, write a report."""
    from antiphon import selftest as command

    command.run(bundle, backend, slots, plans, out)


@bundle_app.command("report")
def bundle_report(directory: Annotated[Path, typer.Argument(help="Directory of the bundle.")]) -> None:
    """Show how exactly each graph of a bundle was found to compute, as a table."""
    from antiphon import bundle_report as command

    command.run(directory)


@bundle_app.command("inspect")
def bundle_inspect(directory: Annotated[Path, typer.Argument(help="Directory of the bundle.")]) -> None:
    """Check a bundle, file by file, and say what it holds."""
    from antiphon import inspect_bundle as command

    command.run(directory)
