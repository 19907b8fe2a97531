"""The recipe that made the default voice: texts, teacher, codec, talker, evaluation."""
