"""feedrate.Loader: folders as torchvision reads them, and unusable files."""

import os
import pathlib
import tarfile
import unittest
import warnings

import cases  # Puts feedrate on the path.


class ClassesTest(cases.Case):
    def setUp(self):
        super().setUp()
        self.images = self.folder / "images"
        for i in range(30):
            cases.write(
                self.images / f"c{i % 3}" / f"{i:02}.npy", cases.image(i)
            )

    def test_folders_are_those_of_imagefolder(self):
        """torch_test.py compares with torchvision, where it is installed."""
        root = cases.write_tree(self.folder)
        with self.assertWarnsRegex(
            RuntimeWarning,
            "tree: ignored 4 files: 2 .txt, 1 beside the class folders, 1"
            " without an ending; the first is .*LICENSE",
        ):
            loader = self.loader(root)
        self.assertEqual(loader.classes, ["a b", "a-b", "b", "c"])
        self.assertEqual(
            loader.class_to_idx, {"a b": 0, "a-b": 1, "b": 2, "c": 3}
        )
        self.assertEqual(sorted(loader.labels), [0, 1, 1, 2, 2, 2, 2, 3])
        self.assertEqual(sum(len(images) for images, _ in loader), 8)
        self.assertEqual(loader.skipped, 0)
        (root / "aa/empty").mkdir(parents=True)
        with self.assertRaisesRegex(
            FileNotFoundError, "found no valid file for the classes aa;"
        ):
            self.loader(root)
        # Where labels do not come from folders, all images are items.
        self.assertEqual(self.loader(root, labels=range(9)).size, 9)

    def test_a_validation_split_has_the_classes_of_the_training(self):
        train = self.loader(self.images)
        split = self.folder / "split"
        cases.write(split / "c2/7.npy", cases.image(7))
        (split / "c1").mkdir()
        loader = self.loader(split, labels=train.classes)
        self.assertEqual(loader.classes, ["c0", "c1", "c2"])
        self.assertEqual(list(loader.labels), [2])
        with self.assertRaisesRegex(FileNotFoundError, "classes c1;"):
            self.loader(split)
        cases.write(split / "c9/7.npy", cases.image(7))
        with self.assertRaisesRegex(ValueError, 'a class "c9" that the train'):
            self.loader(split, labels=train.classes)
        with self.assertRaisesRegex(ValueError, "no item is in the folder"):
            self.loader(self.array(), labels=train.classes)

    def test_shards_and_stores_have_classes_too(self):
        shards = self.folder / "shards"
        shards.mkdir()
        with tarfile.open(shards / "a.tar", "w") as tar:
            tar.add(self.images, "")
        for source in (shards, f"file://{self.images}"):
            loader = self.loader(source)
            self.assertEqual(
                sorted(zip(self.numbers(loader), loader.labels, strict=True)),
                [(i, i % 3) for i in range(30)],
            )
            self.assertEqual(loader.class_to_idx, {"c0": 0, "c1": 1, "c2": 2})
        cases.write(self.images / "beside.npy", cases.image(31))
        with self.assertWarnsRegex(
            RuntimeWarning, "1 of 31 items have no label, .*beside.npy"
        ):
            self.loader(f"file://{self.images}")


class SkippedTest(cases.Case):
    def test_all_skipped_files_are_named(self):
        cases.write(self.folder / "04.npy", cases.image(4))
        (self.folder / "05.npy").write_bytes(b"no array")
        for i in range(100, 160):
            (self.folder / f"{i}.npy").write_bytes(b"no array")
        (self.folder / "200.npy").symlink_to(self.folder / "nowhere")
        for i in range(300, 310):
            cases.write(self.folder / f"{i}.npy", cases.image(i))
        loader = self.loader(self.folder, shuffle=True)
        with self.assertWarnsRegex(RuntimeWarning, "62 images could not be"):
            self.numbers(loader)
        names = [pathlib.Path(name).stem for name in loader.skipped_files]
        self.assertEqual(
            sorted(names), ["05", *map(str, range(100, 160)), "200"]
        )
        self.assertIn(
            "No such file", loader.skipped_files[f"{self.folder}/200.npy"]
        )

    def test_a_cut_jpeg_is_skipped_whatever_the_crop(self):
        """It was delivered in epochs whose crop was above the cut."""
        folder = self.folder / "jpegs"
        cases.write_jpegs(folder, 8, classes=1)
        whole = folder / "class0/001.jpg"
        cut = folder / "class0/zzz.jpg"
        cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 9 // 10])
        loader = self.loader(folder, return_index=True)
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        for _ in range(10):
            found = [i for _, _, items in loader for i in items]
            self.assertNotIn(8, found)
        self.assertEqual(list(loader.skipped_files), [str(cut)])


class IndexTest(cases.Case):
    def batches(self, source, **arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader = self.loader(source, shuffle=True, crop=16, **arguments)
        return [images.tobytes() for _ in range(2) for images, _ in loader]

    def test_batches_with_an_index_are_the_same(self):
        cases.write_jpegs(self.folder / "images", 12)
        images = self.folder / "images"
        expected = self.batches(images)
        index = images / "feedrate.jpegindex"
        for _ in range(2):
            self.assertEqual(self.batches(images, index=True), expected)
            self.assertTrue(index.exists())
        elsewhere = self.folder / "elsewhere"
        self.assertEqual(self.batches(images, index=elsewhere), expected)
        self.assertEqual(index.read_bytes(), elsewhere.read_bytes())
        index.write_bytes(index.read_bytes()[:30])
        with self.assertWarnsRegex(RuntimeWarning, "damaged and is made anew"):
            self.loader(images, index=True)
        index.write_text("notes")
        with self.assertRaisesRegex(
            ValueError, "is not an index of JPEG files"
        ):
            self.loader(images, index=True)

    def test_an_index_that_cannot_be_kept_is_told(self):
        cases.write_jpegs(self.folder / "images", 4)
        home = self.folder / "home"
        home.mkdir()
        loader = self.loader(self.folder / "images", index=home / "index")
        home.rmdir()
        home.write_text("no folder")
        # When the first epoch ends; once.
        with self.assertWarnsRegex(RuntimeWarning, "home/index.*: cannot"):
            list(loader)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            list(loader)

    def test_an_index_makes_parts_of_objects_enough(self):
        images = self.folder / "objects"
        cases.write_jpegs(images, 16, height=300, width=200)
        bytes_of = sum(path.stat().st_size for path in images.rglob("*.jpg"))
        with cases.store(os.environ["STORAGE_PYTHON"], images) as port:
            more = {"endpoint": f"http://127.0.0.1:{port}", "anonymous": True}

            def batches(index):
                loader = self.loader(
                    "s3://public/", index=index, shuffle=True, **more
                )
                made = [
                    batch[0].tobytes() for _ in range(2) for batch in loader
                ]
                return made, loader.transfers

            without, whole = batches(False)
            self.assertEqual(whole["part_items"], 0)
            for parts in (16, 32):
                again, read = batches(self.folder / "parts")
                self.assertEqual(again, without)
                # All but some of 20 rows, of which every byte is needed.
                self.assertGreaterEqual(read["part_items"], parts * 14 // 16)
            saved = read["part_of_bytes"] - read["part_bytes"]
            self.assertGreater(saved, bytes_of)
            self.assertLessEqual(read["bytes"], whole["bytes"] - saved)
        self.assertIsNone(self.loader(images).transfers)

    def test_what_an_index_is_not_for(self):
        with self.assertRaisesRegex(ValueError, "index=True.*path of a file"):
            self.loader(self.array(), index=True)
        cases.write_jpegs(self.folder / "images", 2)
        with self.assertRaisesRegex(ValueError, "cannot be written"):
            self.loader(self.folder / "images", index="/no/such/folder/index")


if __name__ == "__main__":
    unittest.main()
