"""Lends slots of the talker and the vocoder to segments and takes them back, even from under the vocoder."""

from collections.abc import Collection

from server.kv_cache import SlotPool
from server.progress import SegmentProgress, UtteranceProgress
from server.utterance import SegmentId


class SlotLending:
    """Keeps the two pools true to what segments and utterances believe to hold.

    Args:
        talker_slots: Nobody else may allocate from these.
        vocoder_slots: Nor from these.
    """

    def __init__(self, talker_slots: SlotPool, vocoder_slots: SlotPool) -> None:
        self._talker_slots = talker_slots
        self._vocoder_slots = vocoder_slots
        self._orphans: dict[SegmentId, int] = {}  # vocoder slots of dropped segments that the vocoder still works on
        self._released: list[int] = []

    def lend_talker_slot(self, part: SegmentProgress) -> None:
        """Lend a slot if one is free."""
        part.slot = self._talker_slots.allocate(part.segment.id)

    def free_talker_slot(self, part: SegmentProgress) -> None:
        """Take the slot back, if there is one."""
        if part.slot is not None:
            self._talker_slots.free(part.slot, part.segment.id)
            self._released.append(part.slot)
            part.slot = None

    @property
    def free_vocoder_slot_count(self) -> int:
        """How many utterances that have no slot of the vocoder can be lent one."""
        return self._vocoder_slots.free_count

    def lend_vocoder_slot(self, utterance: UtteranceProgress) -> int:
        """Return the slot of the oldest segment, lent now if it has none; one must be free then."""
        if utterance.vocoder_slot is None:
            utterance.vocoder_slot = self._vocoder_slots.allocate(utterance.active[0].segment.id)
        assert utterance.vocoder_slot is not None
        return utterance.vocoder_slot

    def free_vocoder_slot(self, utterance: UtteranceProgress) -> None:
        """Take the slot of the oldest segment back, if there is one."""
        if utterance.vocoder_slot is not None:
            self._vocoder_slots.free(utterance.vocoder_slot, utterance.active[0].segment.id)
            utterance.vocoder_slot = None

    def give_back(self, utterance: UtteranceProgress) -> None:
        """Take back all that an utterance holds; what the vocoder works on follows with `free_orphan`."""
        for part in utterance.active:
            self.free_talker_slot(part)
        if utterance.is_vocoding and utterance.vocoder_slot is not None:
            self._orphans[utterance.active[0].segment.id] = utterance.vocoder_slot
        else:
            self.free_vocoder_slot(utterance)

    def free_orphan(self, segment_id: SegmentId) -> None:
        """Take back the vocoder slot of a segment that was dropped while the vocoder worked on it."""
        self._vocoder_slots.free(self._orphans.pop(segment_id), segment_id)

    def take_released(self) -> tuple[int, ...]:
        """Return the talker slots freed since this was last asked, each once though it may be lent again."""
        released, self._released = tuple(dict.fromkeys(self._released)), []
        return released

    def check_integrity(self, utterances: Collection[UtteranceProgress]) -> None:
        """Assert that every slot is held by a segment that knows of it, and by no other."""
        self._talker_slots.check_integrity()
        self._vocoder_slots.check_integrity()
        talking = {part.slot: part.segment.id for each in utterances for part in each.active if part.slot is not None}
        assert talking == self._talker_slots.holders(), "a talker slot is held by nobody, or by a stranger"
        voicing = {each.vocoder_slot: each.active[0].segment.id for each in utterances if each.vocoder_slot is not None}
        voicing |= {slot: segment_id for segment_id, slot in self._orphans.items()}
        assert voicing == self._vocoder_slots.holders(), "a vocoder slot is held by nobody, or by a stranger"
