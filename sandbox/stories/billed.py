# SPDX-License-Identifier: Apache-2.0
"""The bill of a lease by each rating that is shipped, equal to what a script
counts."""

import csv
import datetime
from decimal import Decimal
from decimal import ROUND_HALF_UP
import io
import re

from sandbox import ini
from sandbox import person
from sandbox import story
from sandbox.person import body
from sandbox.polls import until
from sandbox.stories import cast
from sandbox.stories import commands
from sandbox.stories import planned
from sandbox.story import expect

PRICE = Decimal(3600)
"""Of a host, for an hour."""

FLAT = Decimal('12.50')
"""Of a lease."""

SERVER, VCPU = Decimal(1800), Decimal(7200)
"""Of a server that was used, and of each of its processors, for an hour."""

HOSTS = 2

#: What the operator has in nova.conf beside.
CONF: ini.Sections = {
    'reservations': {
        'rating': 'reserved',
        'rating_prices': f'physical:host={PRICE}',
        'rating_flat_price': str(FLAT),
        'rating_unit': 'EUR',
    }
}


class Billed(planned.Planned):
    """The chapters, in the order in which they are told."""

    def __init__(self, auth_url: str, timeline: story.Timeline) -> None:
        super().__init__(auth_url, timeline)
        self.services = timeline.services
        self.auth_url = auth_url
        self._booted = self._built = cast.now()
        """When the server was asked for, and when it was there."""

    def tell(self) -> None:
        lease, began = self._have()
        held = self._count(lease, began)
        self._add_up()
        with self.step('by rating = flat it is the price of a lease'):
            self._rate_by('flat')
            expect('amount', (FLAT, 'EUR'), _amount(self._line(lease)))
        self._add_up()
        self._rate_by('used', f'servers={SERVER},VCPU={VCPU}')
        self._count_use(lease, held)
        self._add_up()
        self.delete_lease(lease)

    def _have(self) -> tuple[str, datetime.datetime]:
        """Return a lease that is over, and the time before it began."""
        with self.step('demo has two hosts, and a server on one') as seen:
            began = cast.now()
            answer = self.demo.ask_lease(
                'billed', None, began + cast.hours(1), HOSTS
            )
            lease = str(body(answer, 201)['lease']['id'])
            seen(self.wait_for(lease, 'ACTIVE'))
            self._booted = cast.now()
            answer = self.demo.boot('billed', self.reservation(lease)['id'])
            self.expect_on(cast.accepted(answer), self.hosts_of(lease))
            self._built = cast.now()
            # Less than a second is not billed.
            until(
                'a second of both',
                self.demo.usages,
                lambda usages: any(
                    each['lease_id'] == lease
                    and each['hours'] > 0
                    and each['used'].get('servers', 0) > 0
                    for each in usages
                ),
            )
            change = {'end_date': 'now'}
            body(self.demo.reservation.put(f'/leases/{lease}', json=change))
            seen(self.wait_for(lease, 'TERMINATED', 60))
        return lease, began

    def _count(self, lease: str, began: datetime.datetime) -> dict[str, str]:
        """Return the line of the lease."""
        with self.step(
            'by rating = reserved its line is what a script counts'
        ) as seen:
            line = self._line(lease)
            started, ended = (
                planned.date(line[key]) for key in ('Started', 'Ended')
            )
            seconds = int((ended - started).total_seconds())
            if not 0 < seconds <= (cast.now() - began).total_seconds() + 1:
                raise person.Unexpected('the time since its start', line)
            hours = Decimal(seconds * HOSTS) / 3600
            expect(
                'host hours',
                round(hours, 4),
                round(Decimal(line['Host hours']), 4),
            )
            expect('amount', (_cents(PRICE * hours), 'EUR'), _amount(line))
            seen(f'{seconds} s, {line["Host hours"]} host hours')
            seen(f'{line["Amount"]} {line["Unit"]}')
        return line

    def _count_use(self, lease: str, held: dict[str, str]) -> None:
        with self.step(
            'by rating = used it is its server, until the end of the lease'
        ) as seen:
            line = self._line(lease)
            ended = planned.date(line['Ended'])
            # The time of the claim is between these two.
            most, least = (
                int((ended - time).total_seconds())
                for time in (self._booted, self._built)
            )
            seconds = _seconds(line['Server hours'])
            if not least - 1 <= seconds <= most + 1:
                raise person.Unexpected(f'{least} to {most} s', line)
            flavor = self.demo.ingredients['flavorRef']
            answer = self.demo.compute.get(f'/flavors/{flavor}')
            vcpus = body(answer)['flavor']['vcpus']
            expect(
                'VCPU seconds',
                seconds * vcpus,
                _seconds(line['Used VCPU hours']),
            )
            cost = _cents(seconds * (SERVER + vcpus * VCPU) / 3600)
            expect('amount', (cost, 'EUR'), _amount(line))
            seen(f'{seconds} s')
            seen(f'{line["Amount"]} {line["Unit"]}')
        with self.step('whatever it costs, what was held is the same'):
            costs = {'Amount': held['Amount']}
            expect('line', held, line | costs)

    def _rate_by(self, rating: str, prices: str | None = None) -> None:
        """Change the rating in nova.conf, and restart Nova."""
        with self.step(f'the operator has rating = {rating}') as seen:
            conf = self.services.layout.etc / 'nova.conf'
            options = {'rating': rating}
            if prices:
                options['rating_prices'] = prices
            text = conf.read_text()
            for option, value in options.items():
                text, count = re.subn(
                    f'^{option} = .*$', f'{option} = {value}', text, flags=re.M
                )
                expect(option, 1, count)
            conf.write_text(text)
            self.services.kill('nova')
            self.services.restart('nova')
            self.services.wait_for_answer('nova')
            seen(
                ', '.join(f'{name} = {each}' for name, each in options.items())
            )

    def _add_up(self) -> None:
        with self.step('and the lines add up to the total') as seen:
            lines = self._lines()
            (total,) = self._lines(detailed=False)
            expect(
                'total',
                (sum(_amount(line)[0] for line in lines), 'EUR'),
                _amount(total),
            )
            seen(f'{total["Amount"]} {total["Unit"]} of {len(lines)} leases')

    def _line(self, lease: str) -> dict[str, str]:
        (line,) = (line for line in self._lines() if line['Lease'] == lease)
        return line

    def _lines(self, detailed: bool = True) -> list[dict[str, str]]:
        """Return what openstack lease usage prints for demo."""
        words = ['lease', 'usage', '-f', 'csv', '--quote', 'minimal']
        if detailed:
            words.append('--detailed')
        done = commands.openstack(self.auth_url, 'demo', *words)
        if done.returncode:
            raise person.Unexpected('openstack lease usage', done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))


def _amount(line: dict[str, str]) -> tuple[Decimal, str]:
    return Decimal(line['Amount'] or 0), line['Unit']


def _cents(exact: Decimal) -> Decimal:
    return exact.quantize(Decimal('0.01'), ROUND_HALF_UP)


def _seconds(hours: str) -> int:
    return round(Decimal(hours) * 3600)
