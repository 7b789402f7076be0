"""How to record what a trace has not."""

from tracelode.collect.gives import hints


def test_an_export_of_nsight_systems_without_page_faults_says_how_to_record_them() -> None:
    asked = "nsys profile --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true"
    assert hints("nsys")["fault"] == asked


def test_of_a_format_that_is_not_known_nothing_is_hinted() -> None:
    assert hints("other") == {}


def test_what_only_devices_of_cuda_give_is_no_hint_for_others() -> None:
    assert hints("kineto", frozenset({"intel"}))["kernel"] == ""
    assert hints("kineto", frozenset({"intel", "amd"}))["kernel"].startswith("activities=")
