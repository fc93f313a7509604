"""feedrate.Clips gives the frames that PyAV and torchcodec give.

Of each clip the numbers of its frames are known by sampling, or shown by the
frames themselves. Pixels differ a little, since each converts colors in its own
way. dev/checks/lerobot_test.sh runs it, in whose environment both are.
"""

import functools
import unittest

import av
import clip_cases
import numpy as np
from torchcodec.decoders import VideoDecoder

# Greatest and mean difference in levels.
SAME = 8, 1.5


@functools.cache
def by_pyav(path):
    with av.open(path) as video:
        return [
            frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)
        ]


class ReadersTest(clip_cases.Case):
    def compare(self, container, **arguments):
        paths = [str(path) for path in clip_cases.paths(container, 3)]
        clips = self.clips(paths, channels_last=True, **arguments)
        compared = 0
        for frames, _, indexes in clips:
            for clip, video in zip(
                frames, clips.video_of(indexes), strict=True
            ):
                shown = clip_cases.numbers(clip.transpose(0, 3, 1, 2))
                decoder = VideoDecoder(paths[video], num_ffmpeg_threads=1)
                torchcodec = decoder.get_frames_at(shown).data.numpy()
                for place, number in enumerate(shown):
                    for theirs in (
                        by_pyav(paths[video])[number],
                        torchcodec[place].transpose(1, 2, 0),
                    ):
                        gap = np.abs(clip[place].astype(int) - theirs)
                        self.assertLessEqual(gap.max(), SAME[0], number)
                        self.assertLessEqual(gap.mean(), SAME[1], number)
                compared += len(shown)
                yield len(by_pyav(paths[video])), shown
        self.assertGreater(compared, 0)

    def test_positions(self):
        for container in ("avi", "mp4"):
            for count, shown in self.compare(
                container, sampling="uniform", frames=5
            ):
                wanted = [int(i * (count - 1) / 4) for i in range(5)]
                self.assertEqual(shown, wanted)
            for count, shown in self.compare(
                container, sampling="consecutive", frames=6
            ):
                first = (count - 6) // 2
                self.assertEqual(shown, list(range(first, first + 6)))
            starts = set()
            for _, shown in self.compare(
                container, sampling="random", frames=4, stride=3
            ):
                self.assertEqual(np.diff(shown).tolist(), [3, 3, 3])
                starts.add(shown[0])
            self.assertGreater(len(starts), 1)


if __name__ == "__main__":
    unittest.main()
