"""What differs from run to run or from machine to machine: random numbers, clocks, the machine, other processes."""

from __future__ import annotations

import datetime
from typing import Any

from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    derived,
    first,
    holder,
    items_of,
    nothing,
    unknown,
)
from cgx.indexer.interpreter.values import ListValue, Opaque, Unknown, Value


def _chosen(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``random.choice``: certain where there is one element."""
    items = items_of(interp, args[-1], site)
    return items[0] if items is not None and len(items) == 1 else Unknown(site.text, "random", site.anchor)


def _shuffled(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``random.shuffle``: the elements stay, their order is not known."""
    owner = args[-1]
    if isinstance(owner, ListValue) and len(owner.items) > 1:
        places = [Unknown(f"{site.text}[{place}]", "random", site.anchor) for place in range(len(owner.items))]
        interp.trail.replace(owner, places)
    return None


def _sampled(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    count = kwargs.get("k", args[1] if len(args) > 1 else None)
    if isinstance(count, int) and 0 <= count <= 1000:
        return ListValue([Unknown(f"{site.text}[{place}]", "random", site.anchor) for place in range(count)])
    return Unknown(site.text, "random", site.anchor, "list")


def _generator(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("random.Random", {}, site.anchor)


def _process(qname: str) -> Handler:
    """A started process: its output is not known, waiting for it changes nothing here."""
    return lambda interp, site, args, kwargs: Opaque(qname, {}, site.anchor)


def _outcome(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Unknown(f"{site.text}.{args[1]}", "environment", site.anchor)


_RANDOM, _TIME, _MACHINE = unknown("random"), unknown("time", "float"), unknown("environment")
_DRAWS = [
    "random",
    "uniform",
    "gauss",
    "normalvariate",
    "betavariate",
    "expovariate",
    "triangular",
    "lognormvariate",
    "vonmisesvariate",
    "paretovariate",
]
_WHOLE = ["randint", "randrange", "getrandbits", "randbytes"]

RANDOM: dict[str, Handler] = {
    **{name: unknown("random", "float") for name in _DRAWS},
    **{name: unknown("random", "int") for name in _WHOLE},
    "choice": _chosen,
    "choices": _sampled,
    "sample": _sampled,
    "shuffle": _shuffled,
    "seed": nothing,
    "getstate": _RANDOM,
    "setstate": nothing,
}

ENTRIES: dict[str, Handler] = {
    **{f"random.{name}": handler for name, handler in RANDOM.items()},
    **{f"random.Random.{name}": handler for name, handler in RANDOM.items()},
    "random.Random": _generator,
    "random.SystemRandom": _generator,
    "secrets.token_hex": unknown("random", "str"),
    "secrets.token_bytes": unknown("random", "bytes"),
    "secrets.randbelow": unknown("random", "int"),
    "secrets.choice": _chosen,
    "uuid.uuid4": unknown("random", "str"),
    "uuid.uuid1": unknown("random", "str"),
    "os.urandom": unknown("random", "bytes"),
    # clocks
    **{f"time.{name}": _TIME for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")},
    **{
        f"time.{name}": unknown("time", "int")
        for name in ("time_ns", "perf_counter_ns", "monotonic_ns", "process_time_ns")
    },
    **{f"time.{name}": unknown("time") for name in ("localtime", "gmtime", "mktime")},
    **{f"time.{name}": unknown("time", "str") for name in ("strftime", "ctime", "asctime")},
    "time.sleep": nothing,
    "timeit.default_timer": _TIME,
    **{f"datetime.datetime.{name}": unknown("time") for name in ("now", "utcnow", "today", "fromtimestamp")},
    "datetime.date.today": unknown("time"),
    "datetime.timedelta": holder("datetime.timedelta"),
    "datetime.timedelta.total_seconds": lambda interp, site, args, kwargs: _seconds(args[0], site),
    "datetime.datetime": unknown("time"),
    "calendar.timegm": unknown("time", "int"),
    # the machine
    "os.getpid": unknown("environment", "int"),
    "os.getppid": unknown("environment", "int"),
    "os.cpu_count": unknown("environment", "int", 1),
    "os.process_cpu_count": unknown("environment", "int", 1),
    "os.sched_getaffinity": _MACHINE,
    "os.getloadavg": _MACHINE,
    "os.getuid": unknown("environment", "int"),
    "os.getlogin": unknown("environment", "str"),
    "os.uname": lambda interp, site, args, kwargs: Opaque("os.uname_result", {"sysname": "Linux"}, site.anchor),
    "os.system": unknown("environment", "int"),
    "os.popen": unknown("environment", "str"),
    "os.kill": nothing,
    "os.nice": nothing,
    "os.setsid": nothing,
    "os.fork": unknown("environment", "int"),
    "multiprocessing.cpu_count": unknown("environment", "int", 1),
    "psutil.cpu_count": unknown("environment", "int", 1),
    "psutil.virtual_memory": _MACHINE,
    "psutil.Process": _MACHINE,
    "resource.getrusage": _MACHINE,
    "resource.getrlimit": _MACHINE,
    "resource.setrlimit": nothing,
    "signal.signal": nothing,
    "signal.alarm": nothing,
    "faulthandler.enable": nothing,
    "gc.collect": nothing,
    "gc.disable": nothing,
    "gc.enable": nothing,
    "gc.freeze": nothing,
    "gc.get_objects": _MACHINE,
    "gc.get_count": _MACHINE,
    "gc.isenabled": constant(True),
    "tracemalloc.start": nothing,
    "socket.gethostname": unknown("environment", "str"),
    "socket.gethostbyname": unknown("environment", "str"),
    "socket.getfqdn": unknown("environment", "str"),
    "socket.socket": _MACHINE,
    "getpass.getuser": unknown("environment", "str"),
    "platform.system": constant("Linux"),
    "platform.python_version": unknown("environment", "str"),
    "platform.python_implementation": constant("CPython"),
    **{
        f"platform.{name}": unknown("environment", "str")
        for name in ("node", "machine", "processor", "platform", "release", "version", "architecture", "uname")
    },
    "locale.setlocale": nothing,
    # other programs
    "subprocess.run": _process("subprocess.CompletedProcess"),
    "subprocess.Popen": _process("subprocess.Popen"),
    "subprocess.check_output": unknown("environment", "bytes"),
    "subprocess.getoutput": unknown("environment", "str"),
    "subprocess.call": unknown("environment", "int"),
    "subprocess.check_call": constant(0),
    "subprocess.CompletedProcess.__getattr__": _outcome,
    "subprocess.CompletedProcess.check_returncode": nothing,
    "subprocess.Popen.__getattr__": _outcome,
    "subprocess.Popen.__enter__": first,
    "subprocess.Popen.__exit__": nothing,
    "subprocess.Popen.wait": unknown("environment", "int"),
    "subprocess.Popen.poll": unknown("environment", "int"),
    "subprocess.Popen.communicate": lambda interp, site, args, kwargs: (
        Unknown(f"{site.text}[0]", "environment", site.anchor),
        Unknown(f"{site.text}[1]", "environment", site.anchor),
    ),
    "subprocess.Popen.kill": nothing,
    "subprocess.Popen.terminate": nothing,
    "requests.get": unknown("data"),
    "requests.post": unknown("data"),
    "urllib.request.urlopen": unknown("data"),
    "urllib.request.urlretrieve": nothing,
    "webbrowser.open": nothing,
    "uuid.UUID": unknown("random", "str"),
}


def _seconds(value: Value, site: Any) -> Value:
    try:
        return datetime.timedelta(**value.attrs).total_seconds()
    except (TypeError, ValueError):
        return derived(site, list(value.attrs.values()), "float", "time")


CONSTANTS: dict[str, Value] = {
    "time.timezone": Unknown("time.timezone", "environment", hint="int"),
    "signal.SIGINT": 2,
    "signal.SIGTERM": 15,
    "signal.SIGUSR1": 10,
    "subprocess.PIPE": -1,
    "subprocess.STDOUT": -2,
    "subprocess.DEVNULL": -3,
}
