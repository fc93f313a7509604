"""tf.data: the recipe as functions of a graph."""

import tensorflow as tf
from operation import find
from params import Params


class Recipe:
    def __init__(self, library, command, spec):
        if spec.batch_transform or spec.is_crop or spec.groups != 1:
            raise ValueError("tf.data has flips of RGB images here")
        self.library = library
        self.is_clip = False
        self._operation = find(tf.image, command["native_op"])
        self._arguments = Params(command["params"]).take_rest().fixed
        self._size = [spec.crop, spec.crop]
        self._random = spec.crop_position == "random"
        self._mean = [spec.input_scale * mean for mean in spec.mean]
        self._std = [spec.input_scale * std for std in spec.std]

    def call(self, path, draw):
        """Normalized floats, CHW, of the image in a file."""
        return self.call_bytes(tf.io.read_file(path), draw)

    def call_record(self, record, draw):
        """The same of the image in a tf.train.Example."""
        feature = tf.io.FixedLenFeature([], tf.string)
        parsed = tf.io.parse_single_example(record, {"image/encoded": feature})
        return self.call_bytes(parsed["image/encoded"], draw)

    def call_bytes(self, data, draw):
        """The same of encoded bytes. Every random number comes from `draw`, so
        that the graph has a state that can be saved."""
        image = tf.cond(
            tf.io.is_jpeg(data),
            lambda: self._jpeg_window(data, draw),
            lambda: self._window(data, draw),
        )
        image = tf.ensure_shape(self._padded(image), [*self._size, 3])
        image = self._operation(image, **self._arguments)
        image = (tf.cast(image, tf.float32) - self._mean) / self._std
        return tf.transpose(image, [2, 0, 1])

    def _place(self, shape, draw):
        """Where the crop begins, and its size, at most the image's."""
        kept = tf.minimum(shape, self._size)
        if not self._random:
            return (shape - kept) // 2, kept
        seed = tf.stack([draw, 0])
        part = tf.random.stateless_uniform([2], seed)
        free = tf.cast(shape - kept + 1, tf.float32)
        return tf.minimum(tf.cast(part * free, tf.int32), shape - kept), kept

    def _jpeg_window(self, data, draw):
        """Decodes no more than the crop."""
        shape = tf.io.extract_jpeg_shape(data)[:2]
        window = tf.concat(self._place(shape, draw), 0)
        return tf.io.decode_and_crop_jpeg(data, window, channels=3)

    def _window(self, data, draw):
        image = tf.io.decode_image(data, channels=3, expand_animations=False)
        start, kept = self._place(tf.shape(image)[:2], draw)
        begin = tf.concat([start, [0]], 0)
        return tf.slice(image, begin, tf.concat([kept, [3]], 0))

    def _padded(self, image):
        """Zeros around a smaller image."""
        missing = self._size - tf.shape(image)[:2]
        before = missing // 2
        padding = tf.stack([before, missing - before], 1)
        return tf.pad(image, tf.concat([padding, [[0, 0]]], 0))
