"""Your own decoder: the frames with these numbers, as an array of THWC bytes.

video --subject=my_decoder:decode
"""

import cv2
import numpy as np


def decode(path, frames):
    video = cv2.VideoCapture(path)
    clip = []
    for number in range(max(frames) + 1):
        is_there, frame = video.read()
        assert is_there, f"{path} ends before frame {number}"
        clip += [frame[:, :, ::-1]] * frames.count(number)
    return np.stack(clip)
