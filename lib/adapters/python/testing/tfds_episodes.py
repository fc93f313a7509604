"""RLDS data sets that tensorflow-datasets itself writes.

    <environment>/bin/python -m testing.tfds_episodes FOLDER [SETS [EPISODES]]

writes several to FOLDER, for dev/bench.sh mixture.
"""

import os
import pathlib
import sys

# No look for a public copy of the data set.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow_datasets as tfds  # noqa: E402
from tensorflow_datasets.core.utils import gcs_utils  # noqa: E402

gcs_utils._is_gcs_disabled = True
tfds.disable_progress_bar()


def picture(episode, step, size):
    """Smooth, as photographs are, and different in each step."""
    height, width = size
    y, x = np.mgrid[:height, :width]
    shift = 7 * step + 31 * episode
    noise = np.random.default_rng([episode, step]).integers(0, 24, (*size, 3))
    waves = np.stack(
        [
            100 + 60 * np.sin((x + shift) / 17) + 40 * np.cos(y / 23),
            90 + 70 * np.cos((y - shift) / 29),
            110 + 60 * np.sin((x + y + shift) / 41),
        ],
        axis=-1,
    )
    return np.clip(waves + noise, 0, 255).astype(np.uint8)


def write(
    folder,
    name,
    encoding="jpeg",
    episodes=4,
    steps=6,
    size=(48, 40),
    shards=2,
    bare=False,
    camera="image",
):
    """Writes FOLDER/NAME/1.0.0 and returns that path. bare: without state,
    instruction and the episode's name, and with an action in two parts."""
    feature = tfds.features
    observation = {
        camera: feature.Image(shape=(*size, 3), encoding_format=encoding)
    }
    floats = {
        "grip": feature.Tensor(shape=(1,), dtype=np.float32),
        "move": feature.Tensor(shape=(3,), dtype=np.float32),
    }
    step_features = {
        "action": floats
        if bare
        else feature.Tensor(shape=(7,), dtype=np.float32),
        "is_last": feature.Scalar(dtype=np.bool_),
    }
    metadata = {"number": feature.Scalar(dtype=np.int64)}
    if not bare:
        observation["state"] = feature.Tensor(shape=(5,), dtype=np.float32)
        step_features["language_instruction"] = feature.Text()
        metadata["file_path"] = feature.Text()
    step_features["observation"] = observation

    def step_of(episode, step):
        numbers = np.arange(7, dtype=np.float32) / 3 + 100 * episode + step
        made = {
            "observation": {camera: picture(episode, step, size)},
            "action": {"grip": numbers[:1], "move": numbers[1:4]}
            if bare
            else numbers,
            "is_last": step == steps - 1,
        }
        if not bare:
            made["observation"]["state"] = -numbers[:5]
            made["language_instruction"] = f"do {name}, part {step // 3}"
        return made

    def episode_of(number):
        data = {
            "steps": [step_of(number, step) for step in range(steps)],
            "episode_metadata": {"number": number},
        }
        if not bare:
            data["episode_metadata"]["file_path"] = f"{name}/{number}"
        return number, data

    registered = name

    class Builder(tfds.core.GeneratorBasedBuilder):
        name = registered
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(
                builder=self,
                features=feature.FeaturesDict(
                    {
                        "steps": feature.Dataset(step_features),
                        "episode_metadata": metadata,
                    }
                ),
            )

        def _split_generators(self, dl_manager):
            return {"train": map(episode_of, range(episodes))}

        def _generate_examples(self):
            raise NotImplementedError

    builder = Builder(data_dir=os.fspath(folder))
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(
            num_shards=shards, try_download_gcs=False
        )
    )
    return pathlib.Path(builder.data_dir)


def main():
    folder = pathlib.Path(sys.argv[1])
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    episodes = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    sizes = [(256, 256), (240, 320), (180, 320), (480, 640), (224, 224)]
    for i in range(sets):
        write(
            folder,
            f"robot_{i:02}",
            episodes=episodes,
            steps=20 + 5 * (i % 3),
            size=sizes[i % len(sizes)],
        )


if __name__ == "__main__":
    main()
