"""Collects the training sentences from public-domain sources; the result is committed as `data/sentences.txt.xz`.

Sources: WordNet 3.0 example phrases (WordNet licence, see `data/NOTICE`), State of the Union addresses since 1930
(US Government work, public domain), the Jargon File (public domain), and our own templates. Retraining reads the
committed file; this script is only needed to rebuild it:

    python -m training.texts --wordnet /usr/share/wordnet --jargon /usr/share/dictd/jargon.dict.dz --sotu DIR
"""

import argparse
import gzip
import lzma
import random
import re
from collections.abc import Iterable
from pathlib import Path

from training.templates import agent_sentences, words

SENTENCES = Path(__file__).parent / "data" / "sentences.txt.xz"
_CLEAN = re.compile(r"^[A-Z][A-Za-z ,;:'\-?!.\"\u201c\u201d\u2019]*[.?!]$")
_ACRONYM = re.compile(r"\b[A-Z]{3,}\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"\u201d\u2019)]*\s+(?=[\"\u201c(]?[A-Z])")


def read_sentences() -> list[str]:
    """Return the committed training sentences, in their shuffled order."""
    return lzma.decompress(SENTENCES.read_bytes()).decode().splitlines()


def extra_utterances(sentences: list[str], fragment_count: int = 3000, word_count: int = 1500) -> list[str]:
    """Return what streaming needs and prose lacks: clauses that end in a comma, single words, short answers.

    A server cuts its first segment at a clause to speak early, so the voice must know how an open clause sounds.
    """
    rng = random.Random(7)
    clauses = [part.strip() + "," for text in sentences if "," in text for part in text.split(",")[:-1]]
    clauses = [clause for clause in dict.fromkeys(clauses) if 8 <= len(clause) <= 90]
    vocabulary = sorted({word for text in sentences for word in re.findall(r"\b[a-z]{3,}\b", text)})
    single = [word.capitalize() + rng.choice(".?!,") for word in rng.sample(vocabulary, word_count)]
    return rng.sample(clauses, min(fragment_count, len(clauses))) + single + words()["short_answers"] * 6


def split_sentences(text: str) -> list[str]:
    """Cut running prose at sentence ends."""
    return [part.strip() for part in _SENTENCE_END.split(re.sub(r"\s+", " ", text))]


def is_clean(sentence: str) -> bool:
    """Keep 3-20 words and 12-115 characters of plain letters and punctuation, without acronyms."""
    return (
        3 <= len(sentence.split()) <= 20
        and 12 <= len(sentence) <= 115
        and bool(_CLEAN.match(sentence))
        and not _ACRONYM.search(sentence)
    )


def wordnet_examples(folder: Path) -> Iterable[str]:
    """Yield the quoted example phrases of WordNet's `data.*` files as sentences."""
    for path in sorted(folder.glob("data.*")):
        for line in path.read_text(errors="ignore").splitlines():
            if "|" not in line or line.startswith("  "):
                continue
            for quote in re.findall(r'"([^"]{12,})"', line.split("|", 1)[1]):
                phrase = quote.strip()
                if phrase and phrase[0].isalpha():
                    yield phrase[0].upper() + phrase[1:] + ("" if phrase[-1] in ".?!" else ".")


def collect(wordnet: Path, jargon: Path, sotu: Path, held_out: set[str]) -> list[str]:
    """Return the shuffled union of all sources without duplicates and held-out sentences."""
    found: dict[str, None] = {}
    found.update(dict.fromkeys(wordnet_examples(wordnet)))
    jargon_text = re.sub(r"[{}]", "", gzip.decompress(jargon.read_bytes()).decode("utf-8", "ignore"))
    found.update(dict.fromkeys(split_sentences(jargon_text)))
    for path in sorted(sotu.glob("*.txt")):
        if int(path.name[:4]) >= 1930:
            found.update(dict.fromkeys(split_sentences(path.read_text(errors="ignore"))))
    kept = [sentence for sentence in found if is_clean(sentence)]
    kept += agent_sentences(6000)
    kept = [sentence for sentence in dict.fromkeys(kept) if sentence not in held_out]
    random.Random(1).shuffle(kept)
    return kept


def main() -> None:
    """Rebuild the committed sentence file from local copies of the sources."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--jargon", type=Path, required=True)
    parser.add_argument("--sotu", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    held_out = {line for path in args.held_out for line in path.read_text().splitlines()}
    sentences = collect(args.wordnet, args.jargon, args.sotu, held_out)
    SENTENCES.parent.mkdir(parents=True, exist_ok=True)
    SENTENCES.write_bytes(lzma.compress("\n".join(sentences).encode(), preset=9))


if __name__ == "__main__":
    main()
