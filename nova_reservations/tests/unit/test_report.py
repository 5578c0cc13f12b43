# SPDX-License-Identifier: Apache-2.0
"""The report that tools/bench writes about its measurements."""

import datetime

from sandbox.bench import report

NOON = datetime.datetime(2030, 1, 1, 12)


def run(*figures, failure=None):
    return report.Run(
        report.Row(figures, {'Profile': '1 ms'}, failure), True, NOON, 0.5
    )


def test_a_report_that_was_written_is_read_again():
    written = report.Report(
        {
            'create': run(report.Figure('p50', 0.5, 's', 1.0, 1.5)),
            'end': run(failure='none left within 60 s'),
        }
    )
    read = report.read(written.json())
    assert read.json() == written.json()
    assert read.runs['end'].date == NOON


def test_a_row_that_could_not_be_measured_counts_as_missed():
    measured = report.Report(
        {
            'create': run(report.Figure('p50', 2, 's', limit=1)),
            'end': run(failure='none left'),
        }
    )
    assert measured.missed == ['end: none left', 'p50']
    assert 'FAILED: none left' in measured.rst()


def test_the_document_keeps_what_is_above_the_report(tmp_path):
    document = tmp_path / 'performance.rst'
    document.write_text(
        'Kept\n\n.. tools/bench --rst writes what follows.\n\nold\n'
    )
    report.paste(
        report.Report({'create': run(report.Figure('p50', 0.5, 's'))}),
        document,
    )
    text = document.read_text()
    assert text.startswith('Kept\n')
    assert 'old' not in text
    assert '2030-01-01 12:00 UTC' in text
