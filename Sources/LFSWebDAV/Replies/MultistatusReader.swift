import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization

/// Reads a `multistatus` (RFC 4918, 14.16) response by response while it comes, so that a folder of a million files
/// takes no more memory than one of ten.
///
/// Owner of its state: the mutex. One reply writes to it, piece by piece.
final class MultistatusReader: Sendable {
    fileprivate struct State {
        /// What has come and was not read yet.
        var rest: [UInt8] = []
        /// How much of that was looked at for tags: nothing is looked at twice, however small the pieces are.
        var scanned = 0
        /// Where a tag begins whose end has not come yet.
        var tagStart: Int?
        /// Where a response begins whose end has not come yet.
        var responseStart: Int?
        /// The root's start tag, which has the namespaces that the responses use.
        var start: [UInt8]?
        var hasEnded = false
        var itself: DAVResource?
    }

    private let name: String?
    private let place: WebDAVPlace
    private let onResource: @Sendable (DAVResource) throws -> Void
    private let state = Mutex(State())

    /// A response has an address and four properties.
    private static let limit = 64 << 10

    /// - Parameter name: of the thing that was asked for, as ``WebDAVPlace/name(of:)`` gives it; nil where nothing else
    ///   was asked for, so that its address does not matter.
    init(itself name: String?, in place: WebDAVPlace, _ onResource: @escaping @Sendable (DAVResource) throws -> Void) {
        self.name = name.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        self.place = place
        self.onResource = onResource
    }

    func read(_ bytes: UnsafeRawBufferPointer) throws {
        try state.withLock { state in
            state.rest.append(contentsOf: bytes)
            try consume(&state)
        }
    }

    /// What was asked for, after everything has come; nil when it is not in the list.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the reply was cut.
    func finish() throws(StorageError) -> DAVResource? {
        let state = state.withLock { $0 }
        guard state.hasEnded else {
            throw StorageError(.serverError, "The server's list ends too early: '\(ServerText.excerpt(state.rest))'.")
        }
        return state.itself
    }

    private func consume(_ state: inout State) throws {
        // Up to where all was read.
        var position = 0
        defer { state.removeFirst(position) }
        while !state.hasEnded, let tag = state.nextTag() {
            switch (state.start, state.responseStart, tag.name) {
            case (nil, _, "multistatus"):
                state.start = Array(state.rest[tag.range])
                state.hasEnded = tag.isEmpty
                position = tag.range.upperBound
            case (_?, nil, "multistatus") where tag.isEnd:
                state.hasEnded = true
                position = tag.range.upperBound
            case (_?, nil, "response"):
                guard !tag.isEnd, !tag.isEmpty else {
                    throw StorageError(.serverError, "The server's list has an entry without an address.")
                }
                state.responseStart = tag.range.lowerBound
            case (let start?, let first?, "response"):
                try take(state.rest[first..<tag.range.upperBound], start, &state)
                state.responseStart = nil
                position = tag.range.upperBound
            default: break
            }
        }
        guard state.rest.count - position <= Self.limit else {
            throw StorageError(.serverError, "The server's list has an entry of more than \(Self.limit) bytes.")
        }
    }

    private func take(_ piece: ArraySlice<UInt8>, _ start: [UInt8], _ state: inout State) throws {
        let root = start.dropFirst().prefix { !Self.endsName($0) }
        let document = start + piece + Array("</".utf8) + root + Array(">".utf8)
        guard let response = try XMLReader.read(document, limit: 2 * Self.limit).children.first else { return }
        let resource = try DAVResource(response, in: place)
        if name == nil || resource.name == name {
            state.itself = state.itself ?? resource
        } else {
            try onResource(resource)
        }
    }

    // MARK: Tags

    fileprivate struct Tag {
        /// Without its prefix.
        var name: String
        var range: Range<Int>
        var isEnd: Bool
        /// `<name/>`.
        var isEmpty: Bool
    }

    fileprivate static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
    }
}

extension MultistatusReader.State {
    /// The next whole tag; nil when it has not come yet. Text has no `<` of its own in XML; comments and sections of
    /// characters are no part of these replies, and an attribute with a `>` would be found out by the parser.
    fileprivate mutating func nextTag() -> MultistatusReader.Tag? {
        if tagStart == nil {
            tagStart = rest[scanned...].firstIndex(of: UInt8(ascii: "<"))
            scanned = tagStart.map { $0 + 1 } ?? rest.count
        }
        guard let open = tagStart else { return nil }
        guard let close = rest[scanned...].firstIndex(of: UInt8(ascii: ">")) else {
            scanned = rest.count
            return nil
        }
        (tagStart, scanned) = (nil, close + 1)
        let isEnd = rest[open + 1] == UInt8(ascii: "/")
        let name = rest[(open + (isEnd ? 2 : 1))...].prefix { !MultistatusReader.endsName($0) }
        let local = name.split(separator: UInt8(ascii: ":"), maxSplits: 1).last ?? []
        return MultistatusReader.Tag(
            name: String(decoding: local, as: UTF8.self), range: open..<close + 1, isEnd: isEnd,
            isEmpty: rest[close - 1] == UInt8(ascii: "/"))
    }

    /// Forgets what was read.
    fileprivate mutating func removeFirst(_ count: Int) {
        if count == 0 { return }
        rest.removeFirst(count)
        scanned -= count
        tagStart = tagStart.map { $0 - count }
        responseStart = responseStart.map { $0 - count }
    }
}
