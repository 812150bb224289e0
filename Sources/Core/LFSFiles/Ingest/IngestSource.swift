package import Foundation

/// The source of the bytes of a new file.
package enum IngestSource: Sendable {
    /// A piece of content in memory.
    package typealias Bytes = any ContiguousBytes & Sendable

    case bytes(Bytes)
    /// A file that is copied and stays in place.
    case copying(path: String)
    /// A file that the caller hands over. It is renamed if possible, otherwise copied and removed.
    case moving(path: String)
    /// A file that stays in its place and is not copied.
    case original(OriginalSource)
    /// A function that calls its argument with each chunk in order.
    case chunks(@Sendable (_ consume: (Bytes) async throws -> Void) async throws -> Void)
    /// A handle that is read from its current position to the end, and neither rewound nor closed. With a count, at
    /// most that many bytes are read, and other code may write to the file at the same time.
    case handle(FileHandle, byteCount: Int64? = nil)
    /// A stream, which is opened if it is not open yet, and is not closed.
    case stream(StreamBox)

    /// A box that hands an input stream over to the one task that reads it.
    package final class StreamBox: Sendable {
        // The initializer receives the stream as `sending`. A single ingest reads it, from one thread at a time.
        nonisolated(unsafe) private let stream: InputStream

        package init(_ stream: sending InputStream) {
            self.stream = stream
        }

        /// Reads at most as many bytes as fit into the buffer. Returns 0 at the end.
        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            guard let start = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
            if stream.streamStatus == .notOpen { stream.open() }
            let count = stream.read(start, maxLength: buffer.count)
            if count < 0 { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
            return count
        }
    }
}
