/// What the kernel tells of one name in a folder, or of the folder itself. Source: inotify(7).
struct InotifyEvent: Hashable, Sendable {
    /// What has happened, and what it has happened to.
    struct Kind: OptionSet, Hashable, Sendable {
        let rawValue: UInt32

        static let closedAfterWriting = Kind(rawValue: 0x8)
        static let movedAway = Kind(rawValue: 0x40)
        static let movedHere = Kind(rawValue: 0x80)
        static let created = Kind(rawValue: 0x100)
        /// The folder itself is deleted, or moved.
        static let selfDeleted = Kind(rawValue: 0x400)
        static let selfMoved = Kind(rawValue: 0x800)
        /// The file system that it is on is gone.
        static let unmounted = Kind(rawValue: 0x2000)
        /// More has happened than the queue can hold; which is not told.
        static let overflow = Kind(rawValue: 0x4000)
        /// The folder is not watched any more.
        static let ended = Kind(rawValue: 0x8000)
        /// The name is that of a folder.
        static let ofFolder = Kind(rawValue: 0x4000_0000)

        /// What is asked for.
        static let wanted: Kind = [.closedAfterWriting, .movedAway, .movedHere, .created, .selfDeleted, .selfMoved]
    }

    /// The number that the kernel has given the folder.
    let folder: Int32
    let kind: Kind
    /// Empty for the folder itself.
    let name: [UInt8]

    /// Two numbers, the kind, one that pairs moves, and the length of the name with the zeros behind it.
    private static let headerCount = 16
    /// No name is longer, with its zeros.
    private static let longestName: UInt32 = 4_096

    /// Takes the events off the beginning of what was read. The beginning of one that is not all there stays.
    ///
    /// Bytes that can be no event are given up, and count as an overflow.
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
