# SPDX-License-Identifier: Apache-2.0
"""Reads a Perfetto trace the way Perfetto's trace processor does, with Perfetto's own protos.

Stands in for the trace processor, whose binary cannot be had everywhere: keeps the incremental
state of each packet sequence, resolves interned data, sorts by time and stacks slices. Whatever the
trace processor would count as an error is an error here (the name in brackets is its statistic).
"""
import collections

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

CLEARED, NEEDS = 1, 2
BOOTTIME, REALTIME = 6, 1
Event = pb.TrackEvent


class Slice:
    def __init__(self, track, start, event):
        self.track, self.start, self.end = track, start, None
        self.name, self.categories, self.args = event["name"], event["categories"], event["args"]
        self.flows, self.ended_flows = event["flows"], event["ended"]
        self.depth, self.parent = 0, None

    @property
    def duration(self):
        return self.end - self.start


class Missing:
    """Stands for interned data that is not there."""
    name, str, frame_ids, mapping_id, path_string_ids, function_name_id = "", b"", [], 0, [], 0


class Track:
    def __init__(self, descriptor):
        self.uuid = descriptor.uuid
        self.parent = descriptor.parent_uuid or None
        self.descriptor = descriptor
        self.name = (descriptor.name or descriptor.process.process_name
                     or descriptor.thread.thread_name)


class PerfettoTrace:
    def __init__(self, data):
        self.errors = []
        self.tracks = {}
        self.clock_offset = None  # realtime − trace time
        self.state = collections.defaultdict(lambda: None)
        self.slices, self.instants, self.counters, self.samples = [], [], [], []
        trace = pb.Trace()
        trace.ParseFromString(data)
        self.reject_unknown(trace)
        events = []
        for packet in trace.packet:
            self.read_packet(packet, events)
        events.sort(key=lambda item: item[0])  # stable, as the trace processor's sorter
        open_slices = collections.defaultdict(list)
        for time, kind, track, event in events:
            self.apply(time, kind, track, event, open_slices)
        for track, stack in open_slices.items():
            for item in stack:
                self.errors.append(f"slice {item.name!r} on {track} never ends")
        self.link_flows()

    def reject_unknown(self, message):
        """Every field we write must be one of Perfetto's."""
        from google.protobuf import unknown_fields
        stack = [message]
        while stack:
            at = stack.pop()
            if len(unknown_fields.UnknownFieldSet(at)):
                self.errors.append(f"unknown fields in {at.DESCRIPTOR.name}")
            for field, value in at.ListFields():
                if field.message_type:
                    stack.extend(value if field.is_repeated else [value])

    def read_packet(self, packet, events):
        sequence = packet.trusted_packet_sequence_id
        if not sequence:
            return self.errors.append("a packet without a sequence")
        if packet.sequence_flags & CLEARED:
            self.state[sequence] = {"defaults": packet.trace_packet_defaults,
                                    "tables": collections.defaultdict(dict)}
        state = self.state[sequence]
        if packet.sequence_flags & NEEDS and state is None:
            return self.errors.append("state is needed before it is there "
                                      "[tokenizer_skipped_packets]")
        if packet.HasField("interned_data"):
            for field, values in packet.interned_data.ListFields():
                for value in values:
                    if value.iid in state["tables"][field.name]:
                        self.errors.append(f"{field.name} {value.iid} twice "
                                           "[interned_data_tokenizer_errors]")
                    state["tables"][field.name][value.iid] = value
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            if descriptor.uuid in self.tracks or not descriptor.uuid:
                self.errors.append(f"track {descriptor.uuid} described twice")
            if descriptor.parent_uuid and descriptor.parent_uuid not in self.tracks:
                self.errors.append(f"track {descriptor.uuid} has an unknown parent")
            self.tracks[descriptor.uuid] = Track(descriptor)
        elif packet.HasField("clock_snapshot"):
            clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
            self.clock_offset = clocks[REALTIME] - clocks[BOOTTIME]
        elif packet.HasField("track_event"):
            if state["defaults"].timestamp_clock_id != BOOTTIME:
                self.errors.append("no clock for a packet")
            event = packet.track_event
            events.append((packet.timestamp, event.type, event.track_uuid,
                           self.resolve(event, state["tables"])))
        elif packet.HasField("perf_sample"):
            self.read_sample(packet, state["tables"])

    def look_up(self, tables, table, iid):
        if iid not in tables[table]:
            self.errors.append(f"{table} {iid} is not interned")
            return Missing
        return tables[table][iid]

    def resolve(self, event, tables):
        args = {}
        for note in event.debug_annotations:
            name = self.look_up(tables, "debug_annotation_names", note.name_iid).name
            which = note.WhichOneof("value")
            value = getattr(note, which)
            if which == "string_value_iid":
                value = self.look_up(tables, "debug_annotation_string_values", value)
                value = value.str.decode("utf-8")
            args[name] = value
        name = event.name
        if event.name_iid:
            name = self.look_up(tables, "event_names", event.name_iid).name
        counter = None
        if event.WhichOneof("counter_value_field"):
            counter = getattr(event, event.WhichOneof("counter_value_field"))
        return {"name": name, "args": args, "counter": counter,
                "categories": [self.look_up(tables, "event_categories", iid).name
                               for iid in event.category_iids],
                "flows": list(event.flow_ids), "ended": list(event.terminating_flow_ids)}

    def read_sample(self, packet, tables):
        sample = packet.perf_sample
        stack = self.look_up(tables, "callstacks", sample.callstack_iid)
        names = []
        for iid in stack.frame_ids:
            frame = self.look_up(tables, "frames", iid)
            mapping = self.look_up(tables, "mappings", frame.mapping_id)
            for path in mapping.path_string_ids:
                self.look_up(tables, "mapping_paths", path)
            names.append(self.look_up(tables, "function_names",
                                      frame.function_name_id).str.decode("utf-8"))
        if not names:
            self.errors.append("an empty callstack [stackprofile_empty_callstack]")
        self.samples.append((packet.timestamp, sample.pid, sample.tid, names))

    def apply(self, time, kind, uuid, event, open_slices):
        if uuid not in self.tracks:
            return self.errors.append(f"an event on track {uuid}, which nothing describes")
        track = self.tracks[uuid]
        is_counter = track.descriptor.HasField("counter")
        if is_counter != (kind == Event.TYPE_COUNTER):
            self.errors.append(f"kind {kind} on track {track.name!r}")
        if kind == Event.TYPE_SLICE_BEGIN:
            new = Slice(track, time, event)
            stack = open_slices[uuid]
            new.depth, new.parent = len(stack), stack[-1] if stack else None
            stack.append(new)
            self.slices.append(new)
        elif kind == Event.TYPE_SLICE_END:
            if not open_slices[uuid]:
                return self.errors.append(f"an end without a begin on {track.name!r} "
                                          "[misplaced_end_event]")
            open_slices[uuid].pop().end = time
        elif kind == Event.TYPE_INSTANT:
            self.instants.append((time, track, event["name"], event["args"]))
        elif kind == Event.TYPE_COUNTER:
            self.counters.append((time, track, event["counter"]))
        else:
            self.errors.append(f"an event of type {kind}")

    def link_flows(self):
        """(from, to) of every arrow."""
        starts = {}
        self.arrows, self.loose = [], 0
        for item in sorted(self.slices, key=lambda s: s.start):
            for flow in item.flows:
                starts[flow] = item
        for item in self.slices:
            for flow in item.ended_flows:
                if flow in starts:
                    self.arrows.append((starts[flow], item))
                else:
                    self.loose += 1

    def process_of(self, track):
        while track is not None and not track.descriptor.HasField("process"):
            track = self.tracks.get(track.parent)
        return track
