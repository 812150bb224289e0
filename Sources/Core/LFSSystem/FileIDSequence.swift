import Synchronization

import struct Foundation.Date

/// A generator of new ids. An id consists of milliseconds, a counter in the twelve bits of `rand_a`, and random bits.
/// The counter starts at a random number and increases within a millisecond (RFC 9562, section 6.2, method 1). When the
/// counter is used up, the sequence moves to the next millisecond early.
final class FileIDSequence: Sendable {
    private struct State: ~Copyable {
        var milliseconds: UInt64 = 0
        var count: UInt64 = 0
        var random = RandomWords()

        mutating func begin(_ milliseconds: UInt64) {
            self.milliseconds = milliseconds
            count = random.next() & 0x7FF
        }
    }

    /// The most milliseconds by which the sequence may run ahead of the clock. No caller makes that many ids in that
    /// time.
    private static let furthestAhead: UInt64 = 64

    private let state = Mutex(State())

    /// Returns a new id that sorts after every other id that this sequence has made for the same or an earlier time.
    func make(at time: Date) -> FileID {
        FileID(next(Self.milliseconds(time)))
    }

    /// Returns an id like the method above. If that id would not sort after `other`, returns an id shortly after
    /// `other` instead.
    func make(at time: Date, after other: FileID) -> FileID {
        // The sequence does not change: it must not be set back to a time that the id does not use.
        guard Self.milliseconds(time) >= other.milliseconds else { return FileID.make(after: other) }
        let id = make(at: time)
        return id > other ? id : FileID.make(after: other)
    }

    /// Returns the milliseconds as the 48 bits of an id. A clock or a row may contain a time that does not fit. It
    /// becomes the nearest one that does.
    private static func milliseconds(_ time: Date) -> UInt64 {
        min(UInt64(saturating: (time.timeIntervalSince1970 * 1_000).rounded(.down)), 1 << 48 - 1)
    }

    private func next(_ milliseconds: UInt64) -> FileID.Bits {
        state.withLock { state in
            let isBehind = milliseconds < state.milliseconds
            // A time further behind is a different time: the clock was set back, or it is a test's.
            if isBehind ? state.milliseconds - milliseconds > Self.furthestAhead : milliseconds > state.milliseconds {
                state.begin(milliseconds)
            } else if state.count < 0xFFF {
                state.count += 1
            } else {
                state.begin(state.milliseconds + 1)
            }
            return FileID.Bits(
                high: state.milliseconds << 16 | 0x7000 | state.count, low: FileID.Bits.low(state.random.next()))
        }
    }
}
