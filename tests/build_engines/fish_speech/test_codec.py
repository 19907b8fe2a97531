"""The codec against the original's: spectra, features, codes, latents and samples."""

from typing import Any

import numpy as np
import torch

from build_engines.fish_speech.causal import Past


def _samples(wav: np.ndarray[Any, Any]) -> torch.Tensor:
    return torch.from_numpy(wav.astype(np.float32) / 32768)[None]


def _codes(codes: np.ndarray[Any, Any]) -> torch.Tensor:
    return torch.from_numpy(codes.T)[None].long()


def test_encoder_equals_the_originals(vectors: Any) -> None:
    """Spectra, features of the encoder, latents, what is quantized and the codes agree."""
    codec, arrays = vectors.codec("codec_tiny"), vectors.arrays("codec_tiny/encode")
    with torch.no_grad():
        mel = codec.mel(_samples(arrays["wav_int16"]))
        np.testing.assert_allclose(mel[0], arrays["log_mel"], rtol=1e-4, atol=1e-4)
        features = codec.backbone(mel)
        np.testing.assert_allclose(features[0], arrays["encoder_features"], atol=5e-5)
        latent = codec.quantizer.down(features)
        np.testing.assert_allclose(latent[0], arrays["latent"], atol=5e-5)
        scalars = (
            codec.quantizer.residual_fsq.project_in(latent.transpose(1, 2))[0].unflatten(-1, (8, 4)).transpose(0, 1)
        )
        np.testing.assert_allclose(scalars, arrays["fsq_in"], atol=5e-5)
        codes = codec.encode(_samples(arrays["wav_int16"]))
    np.testing.assert_array_equal(codes[0].T, arrays["codes"])


def test_any_length_is_encoded_as_by_the_original(vectors: Any) -> None:
    """Lengths around every boundary give the same codes, the last frame partly padded."""
    codec, arrays = vectors.codec("codec_tiny"), vectors.arrays("codec_tiny/encode_lengths")
    samples = _samples(vectors.arrays("codec_tiny/encode")["wav_int16"])
    for length in arrays["lengths"]:
        piece = samples[:, arrays["start"] : arrays["start"] + length]
        with torch.no_grad():
            np.testing.assert_array_equal(codec.encode(piece)[0].T, arrays[f"codes_{length}"])


def test_decoder_equals_the_originals(vectors: Any) -> None:
    """Latents, upsampled latents and samples agree, the extreme codes included."""
    codec, arrays = vectors.codec("codec_tiny"), vectors.arrays("codec_tiny/decode")
    with torch.no_grad():
        latents = codec.quantizer.latents(_codes(arrays["codes"]))
        np.testing.assert_allclose(latents[0], arrays["z_q"], atol=1e-5)
        np.testing.assert_allclose(codec.quantizer.up(latents, Past())[0], arrays["z"], atol=5e-5)
        np.testing.assert_allclose(codec.decode(_codes(arrays["codes"]), Past())[0], arrays["audio"], atol=1e-5)
        rendered = codec.decode(_codes(arrays["random_codes"]), Past())
    np.testing.assert_allclose(rendered[0], arrays["random_audio"], atol=1e-5)


def test_decoder_stages_equal_the_originals(vectors: Any) -> None:
    """Every stage of the HiFi-GAN agrees."""
    codec, arrays = vectors.codec("codec_tiny"), vectors.arrays("codec_tiny/decode_stages")
    past, head = Past(), codec.head
    with torch.no_grad():
        hidden = head.conv_pre(torch.from_numpy(arrays["z"])[None], past)
        np.testing.assert_allclose(hidden[0], arrays["conv_pre"], atol=5e-5)
        for stage, (up, blocks) in enumerate(zip(head.ups, head.resblocks, strict=True)):
            hidden = up(torch.nn.functional.silu(hidden), past)
            np.testing.assert_allclose(hidden[0], arrays[f"up{stage}"], atol=5e-5)
            hidden = blocks(hidden, past)
            np.testing.assert_allclose(hidden[0], arrays[f"stage{stage}"], atol=5e-5)


def test_quantizer_bounds_twice(vectors: Any) -> None:
    """Values near every threshold fall on the original's code, and every code on its vector."""
    arrays, fsq = vectors.arrays("fsq/fsq"), vectors.codec("codec_tiny").quantizer.fsq
    quantized = fsq(torch.from_numpy(arrays["u"]).repeat(1, 8))
    np.testing.assert_array_equal(fsq.codes(quantized)[:, 3], arrays["u_index"])
    np.testing.assert_array_equal(quantized[:, 4:8], arrays["u_quantized"])
    every = torch.from_numpy(arrays["index"]).long()[:, None].repeat(1, 8)
    np.testing.assert_array_equal(fsq.digits(every)[:, 0], arrays["digits"])
    np.testing.assert_array_equal(fsq.dequantize(every)[:, :4], arrays["code_vectors"])


def test_codec_of_real_size_equals_the_originals(vectors: Any) -> None:
    """At the size of release 1.5, codes are identical and samples agree, a prefix included."""
    codec = vectors.codec("codec_full")
    encode, decode = vectors.arrays("codec_full/encode"), vectors.arrays("codec_full/decode")
    with torch.no_grad():
        np.testing.assert_array_equal(codec.encode(_samples(encode["wav_int16"]))[0].T, encode["codes"])
        audio = codec.decode(_codes(decode["codes"]), Past())[0]
        rendered = codec.decode(_codes(decode["random_codes"]), Past())[0]
    np.testing.assert_allclose(audio, decode["audio"], atol=1e-5)
    np.testing.assert_allclose(rendered, decode["random_audio"], atol=1e-5)
    end = int(decode["prefix_frames"]) * codec.config.samples_per_frame
    np.testing.assert_allclose(audio[end - 4096 : end], decode["prefix_audio"], atol=1e-5)
