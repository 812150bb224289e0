import Synchronization

import struct Foundation.Date

/// New ids: milliseconds, in the twelve bits of `rand_a` a number that starts at random and counts up within a
/// millisecond (RFC 9562, section 6.2, method 1), and random bits. When it is used up, the next millisecond is taken
/// early.
final class FileIDSequence: Sendable {
    private struct State: ~Copyable {
        var milliseconds: UInt64 = 0
        var count: UInt64 = 0
        var random = RandomWords()

        mutating func begin(_ milliseconds: UInt64) {
            (self.milliseconds, count) = (milliseconds, random.next() & 0x7FF)
        }
    }

    /// How many milliseconds may be taken early: those of more ids than anybody makes in that time.
    private static let furthestAhead: UInt64 = 64

    private let state = Mutex(State())

    /// A new id that sorts after every other that this sequence has made for the same or an earlier time.
    func make(at time: Date) -> FileID {
        FileID(next(Self.milliseconds(time)))
    }

    /// As the one above, or, where the other id does not sort before that, one of the next that sort after it.
    func make(at time: Date, after other: FileID) -> FileID {
        // The sequence stays where it is: a time that does not count is not to set it back.
        guard Self.milliseconds(time) >= other.milliseconds else { return FileID.make(after: other) }
        let id = make(at: time)
        return id > other ? id : FileID.make(after: other)
    }

    /// The 48 bits that an id has. A time that does not fit, which a clock or a row may have, is the nearest that does.
    private static func milliseconds(_ time: Date) -> UInt64 {
        min(UInt64(saturating: (time.timeIntervalSince1970 * 1_000).rounded(.down)), 1 << 48 - 1)
    }

    private func next(_ milliseconds: UInt64) -> FileID.Bits {
        state.withLock { state in
            let isBehind = milliseconds < state.milliseconds
            // What is further behind is another time: the clock was set back, or is one of a test.
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
