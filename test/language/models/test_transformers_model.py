"""transformers in process, with a tiny model of random weights that is made here."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from graph_planner_ros.language.models import (
    LanguageModel,
    Message,
    ModelOptions,
    ModelUnavailableError,
    ReplyStatus,
    Request,
    make_language_model,
)

LONG = 600.0
QUESTION = Request((Message("user", "Where is the mug?"),), max_tokens=20)
HOW = "needs requirements/transformers.txt (./run extra transformers)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of a few thousand weights whose tokens are bytes."""
    torch = pytest.importorskip("torch", reason=HOW)
    transformers = pytest.importorskip("transformers", reason=HOW)
    tokenizers = pytest.importorskip("tokenizers", reason=HOW)
    made = tmp_path_factory.mktemp("models") / "tiny"
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<end>": 0, **{letter: number + 1 for number, letter in enumerate(letters)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>"
    ).save_pretrained(made)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    settings = transformers.LlamaConfig(
        vocab_size=len(vocabulary), num_key_value_heads=2, max_position_embeddings=2048, **size, **ends
    )
    transformers.LlamaForCausalLM(settings).save_pretrained(made)
    return made


@pytest.fixture(scope="module")
def model(folder: Path) -> LanguageModel:
    return make_language_model(ModelOptions(backend="transformers", model=str(folder), timeout=LONG, threads=1))


def test_a_model_answers_with_its_tokens_and_the_same_again(model: LanguageModel) -> None:
    first, second = model.ask(QUESTION), model.ask(QUESTION)
    assert first.text and first.text == second.text and first.model == "tiny"
    assert first.status is ReplyStatus.TRUNCATED and first.completion_tokens == 20
    assert first.prompt_tokens == len("user: Where is the mug?\nassistant:") and first.first_token > 0


def test_seeds_decide_what_is_sampled(model: LanguageModel) -> None:
    def said(seed: int) -> str:
        return model.ask(Request(QUESTION.messages, max_tokens=20, temperature=1.0, seed=seed)).text

    assert said(1) == said(1) != said(2)


def test_a_stop_text_ends_the_answer_before_it(model: LanguageModel) -> None:
    whole = model.ask(QUESTION).text
    stop = whole[4:6]
    reply = model.ask(Request(QUESTION.messages, max_tokens=20, stop=(stop,)))
    assert reply.text == whole.split(stop)[0] and reply.status is ReplyStatus.ANSWERED


def test_a_schema_is_not_kept_to_and_that_is_said(model: LanguageModel) -> None:
    reply = model.ask(Request(QUESTION.messages, schema={"type": "object"}, max_tokens=5))
    assert "transformers does not take the JSON schema" in reply.reason


def test_a_prompt_without_room_for_an_answer_is_refused(model: LanguageModel) -> None:
    reply = model.ask(Request((Message("user", "mug " * 1000),)))
    assert reply.status is ReplyStatus.REFUSED and "no room" in reply.reason


def test_time_and_cancel_end_an_answer(model: LanguageModel) -> None:
    long = Request(QUESTION.messages, max_tokens=1900)
    assert model.ask(long, timeout=0.05).status is ReplyStatus.TIMED_OUT
    cancel = threading.Event()
    threading.Timer(0.05, cancel.set).start()
    assert model.ask(long, cancel=cancel).status is ReplyStatus.CANCELLED
    assert model.ask(QUESTION).text, "the one after it is answered"


def test_half_characters_in_a_prompt_do_no_harm(model: LanguageModel) -> None:
    assert model.ask(Request((Message("user", "label \ud800"),), max_tokens=2)).completion_tokens == 2


def test_what_is_missing_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModelUnavailableError, match="run extra transformers"):
        make_language_model(ModelOptions(backend="transformers", model="any"))


def test_a_folder_that_is_no_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason=HOW)
    pytest.importorskip("transformers", reason=HOW)
    with pytest.raises(ModelUnavailableError, match="cannot be loaded"):
        make_language_model(ModelOptions(backend="transformers", model=str(tmp_path)))
