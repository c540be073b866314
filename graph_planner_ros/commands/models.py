"""``graph-planner model``: ask a language model, and see whether one can be used.

Exit codes: 0 answered; 1 not answered; 2 wrong usage; 3 a package or a file is missing; 130 cancelled.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, finite
from graph_planner_ros.domain.json_files import parse_object, read_text
from graph_planner_ros.language.models import (
    MAX_TOKENS,
    LanguageModel,
    Message,
    ModelOptions,
    ModelUnavailableError,
    ReplyStatus,
    Request,
    make_language_model,
)

app = typer.Typer(help="Language models, which may propose and never decide.", no_args_is_help=True)
console = Terminal(highlight=False)

Backend = Annotated[str, typer.Option(help="openai (any compatible endpoint), llama_cpp or transformers, in process.")]
Model = Annotated[
    str, typer.Option(help="As the endpoint calls it; GGUF file of llama_cpp (empty: the small one); folder or name.")
]
Endpoint = Annotated[str, typer.Option(help="Base URL, such as http://localhost:8000/v1; else OPENAI_BASE_URL.")]
KeyVariable = Annotated[str, typer.Option(help="Environment variable that holds the key.")]
Timeout = Annotated[float, typer.Option(callback=finite, help="Seconds for one request, retries included.", min=0.01)]
Retries = Annotated[int, typer.Option(help="Tries after the first one.", min=0)]
Threads = Annotated[int, typer.Option(help="Threads of a model in process; 0: one for two cores.", min=0)]
Context = Annotated[int, typer.Option(help="Tokens of prompt and answer together, in llama_cpp.", min=64)]


@app.command()
def check(
    backend: Backend = "openai",
    model: Model = "",
    endpoint: Endpoint = "",
    key_variable: KeyVariable = "OPENAI_API_KEY",
    timeout: Timeout = 60.0,
    retries: Retries = 0,
    threads: Threads = 0,
    context: Context = 8192,
) -> None:
    """Say whether a model is there, keeps to a JSON schema and a grammar, and how fast it is: four short requests."""
    from graph_planner_ros.language.models.checking import check_model

    made = _make(
        backend=backend, model=model, endpoint=endpoint, key_variable=key_variable, timeout=timeout, retries=retries,
        threads=threads, context=context,
    )  # fmt: skip
    cancel = _cancelled_by_signals()
    usable = True
    for finding in check_model(made, cancel=cancel):
        if cancel.is_set():
            raise typer.Exit(130)
        mark = "[green]ok[/green]" if finding.good else "[red]--[/red]"
        console.print(f"{mark} {finding.name}: {escape(finding.text)}", soft_wrap=True)
        usable = usable and (finding.good or not finding.needed)
    raise typer.Exit(0 if usable else 1)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What is asked; - reads it from the standard input.")],
    backend: Backend = "openai",
    model: Model = "",
    endpoint: Endpoint = "",
    key_variable: KeyVariable = "OPENAI_API_KEY",
    timeout: Timeout = 60.0,
    retries: Retries = 2,
    threads: Threads = 0,
    context: Context = 8192,
    cache: Annotated[Path | None, typer.Option(help="Folder of the replies that are kept.")] = None,
    system: Annotated[str, typer.Option(help="What the model is told first.")] = "",
    schema: Annotated[Path | None, typer.Option(help="File with a JSON schema that the answer has to satisfy.")] = None,
    grammar: Annotated[Path | None, typer.Option(help="File with a GBNF grammar for the answer.")] = None,
    max_tokens: Annotated[int, typer.Option(help="Of the answer.", min=1)] = MAX_TOKENS,
    temperature: Annotated[
        float, typer.Option(callback=finite, help="Of sampling; 0: the likeliest.", min=0, max=2)
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Of sampling.", min=0)] = 0,
) -> None:
    """Ask one question; the answer goes to the standard output, what it cost to the standard error. Ctrl-C cancels."""
    text = sys.stdin.read() if question == "-" else question
    if not text.strip():
        raise fail("the question is empty", 2)
    messages = (*((Message("system", system),) if system else ()), Message("user", text))
    request = Request(
        messages, _read_schema(schema), _read(grammar, "--grammar") if grammar is not None else None, max_tokens,
        temperature, seed,
    )  # fmt: skip
    cancel = _cancelled_by_signals()
    made = _make(
        backend=backend, model=model, endpoint=endpoint, key_variable=key_variable, timeout=timeout, retries=retries,
        threads=threads, context=context, cache=cache,
    )  # fmt: skip
    reply = made.ask(request, cancel=cancel)
    if reply.text:
        print(reply.text)
    what = f"{reply.status.value}: {reply.reason}" if reply.reason else reply.status.value
    cost = f"{reply.prompt_tokens} + {reply.completion_tokens} tokens, {reply.latency:.2f} s, {reply.retries} retries"
    errors.print(escape(f"{what} ({cost}{', from the cache' if reply.cached else ''})"), soft_wrap=True)
    cancelled = reply.status is ReplyStatus.CANCELLED
    raise typer.Exit(0 if reply.answered else 130 if cancelled else 1)


def _make(**options: Any) -> LanguageModel:
    try:
        return make_language_model(ModelOptions(**options))
    except ValueError as error:
        raise fail(error, 2) from None
    except ModelUnavailableError as error:
        raise fail(error, 3) from None


def _read_schema(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        return parse_object(read_text(path), str(path))
    except ValueError as error:
        raise fail(f"--schema: {error}", 2) from None


def _read(path: Path, option: str) -> str:
    try:
        return read_text(path)
    except ValueError as error:
        raise fail(f"{option}: {error}", 2) from None


def _cancelled_by_signals() -> threading.Event:
    event = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: event.set())
    console.on_lost = event.set
    return event
