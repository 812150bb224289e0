/// A kernel event about a name in a folder, or about the folder itself. Source: inotify(7).
struct InotifyEvent: Hashable, Sendable {
    /// The type of the event, and of the object that it concerns.
    struct Kind: OptionSet, Hashable, Sendable {
        let rawValue: UInt32

        static let closedAfterWriting = Kind(rawValue: 0x8)
        static let movedAway = Kind(rawValue: 0x40)
        static let movedHere = Kind(rawValue: 0x80)
        static let created = Kind(rawValue: 0x100)
        /// The folder itself was deleted or moved.
        static let selfDeleted = Kind(rawValue: 0x400)
        static let selfMoved = Kind(rawValue: 0x800)
        /// The file system of the folder was unmounted.
        static let unmounted = Kind(rawValue: 0x2000)
        /// The queue overflowed, and events were lost.
        static let overflow = Kind(rawValue: 0x4000)
        /// The folder is no longer watched.
        static let ended = Kind(rawValue: 0x8000)
        /// The name belongs to a folder.
        static let ofFolder = Kind(rawValue: 0x4000_0000)

        /// The events to subscribe to.
        static let wanted: Kind = [.closedAfterWriting, .movedAway, .movedHere, .created, .selfDeleted, .selfMoved]
    }

    /// The number that the kernel assigned to the folder.
    let folder: Int32
    let kind: Kind
    /// Empty for the folder itself.
    let name: [UInt8]

    /// The size of the header: watch number, event mask, a cookie that pairs moves, and the length of the name with its
    /// zero padding.
    private static let headerCount = 16
    /// The maximum length of a name with its padding.
    private static let longestName: UInt32 = 4_096

    /// Removes and returns the events at the start of the buffer. An incomplete event stays in the buffer.
    ///
    /// Bytes that cannot be an event are discarded and reported as an overflow.
    static func take(from bytes: inout [UInt8]) -> [InotifyEvent] {
        var events: [InotifyEvent] = []
        var start = 0
        while bytes.count - start >= headerCount {
            func number(_ offset: Int) -> UInt32 {
                bytes[(start + offset)..<(start + offset + 4)].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            }
            let length = number(12)
            guard length <= longestName else {
                bytes.removeAll()
                return events + [InotifyEvent(folder: -1, kind: .overflow, name: [])]
            }
            let end = start + headerCount + Int(length)
            guard end <= bytes.count else { break }
            events.append(
                InotifyEvent(
                    folder: Int32(bitPattern: number(0)), kind: Kind(rawValue: number(4)),
                    name: Array(bytes[(start + headerCount)..<end].prefix { $0 != 0 })))
            start = end
        }
        bytes.removeFirst(start)
        return events
    }
}
