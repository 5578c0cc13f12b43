# SPDX-License-Identifier: Apache-2.0
"""The cost of our code in Nova's processes."""

from collections.abc import Sequence
import statistics

from sandbox.bench import measure
from sandbox.bench import subject as su
from sandbox.bench.report import Figure
from sandbox.bench.report import Row


def cpu(subject: su.Subject) -> Row:
    """Our CPU in what has nothing to do with a reservation."""
    what = 'POST /servers without a hint'
    samples = subject.probe(
        'boot',
        token=subject.demo.compute.get_token(),
        server=subject.demo.ingredients
        | {'name': 'probe', 'networks': 'none'},
        rounds=subject.pick(12, 200),
    )
    mean, error = measure.mean(samples['ours'])
    figures = [
        *_shares(what, samples),
        Figure(
            f'{what}: CPU in our code (95 %: +- {1000 * error:.2f} ms)',
            1000 * mean,
            'ms',
            limit=1,
        ),
    ]
    sizes = [1000] if subject.quick else [1000, 10_000]
    for hosts in sizes:
        subject.populate(hosts // 10, hosts - hosts // 10)
        figures += _shares(
            f'scheduling, {hosts:,} hosts, 10 % reserved',
            subject.probe('schedule', rounds=subject.pick(4, 12)),
        )
    found = subject.probe(
        'explain',
        token=subject.operator.compute.get_token(),
        rounds=subject.pick(3, 20),
    )
    figures.append(
        Figure(
            f'allocation candidates of {sizes[-1]:,} hosts, the trait '
            'forbidden, p50',
            statistics.median(found['with']),
            's',
            floor=statistics.median(found['without']),
        )
    )
    return Row(
        figures,
        {'Queries of placement that look for the trait': found['statements']},
    )


def _shares(what: str, samples: dict[str, Sequence[float]]) -> list[Figure]:
    """Return our share, measured in our code and as the difference of the
    whole."""
    whole = statistics.fmean(samples['with'])
    ours, error = measure.mean(samples['ours'])
    paired = [
        with_us - without
        for with_us, without in zip(
            samples['with'], samples['without'], strict=True
        )
    ]
    more, more_error = measure.mean(paired)
    return [
        Figure(
            f'{what}: CPU in our code (95 %: +- {100 * error / whole:.2f})',
            100 * ours / whole,
            '%',
            limit=3,
        ),
        Figure(
            f'{what}: CPU of the whole with us, over that without '
            f'(95 %: +- {1000 * more_error:.1f} ms)',
            1000 * more,
            'ms',
            floor=1000 * statistics.fmean(samples['without']),
        ),
    ]


def memory(subject: su.Subject) -> Row:
    """Memory of a worker of nova-api and of nova-scheduler."""
    figures = []
    for process, quick, full, of_each in (
        # Create, show and delete a lease, and something of Nova's.
        ('nova-api', 12, 2_500, 4),
        ('nova-scheduler', 6, 500, 1),
    ):
        rounds = subject.pick(quick, full)
        requests = rounds * of_each
        theirs, ours = (
            subject.probe(
                'memory',
                process=process,
                ours=ours,
                token=subject.demo.compute.get_token(),
                rounds=rounds,
            )
            for ours in (False, True)
        )
        figures += [
            Figure(
                f'{process}: memory of a worker after {requests:,} requests',
                ours[-1],
                'MiB',
                floor=theirs[-1],
                limit=theirs[-1] + 15,
            ),
            Figure(
                f'{process}: growth over the last nine tenths of them',
                ours[-1] - ours[1],
                'MiB',
                floor=theirs[-1] - theirs[1],
            ),
        ]
    return Row(figures)
