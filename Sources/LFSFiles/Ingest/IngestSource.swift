package import Foundation

/// Where the bytes of a new file come from.
package enum IngestSource: Sendable {
    /// A piece of content in memory.
    package typealias Bytes = any ContiguousBytes & Sendable

    case bytes(Bytes)
    /// A file that stays where it is.
    case copying(path: String)
    /// A file that the caller gives up: renamed where that is possible, else copied and removed.
    case moving(path: String)
    /// Calls its argument with one chunk after the other.
    case chunks(@Sendable (_ consume: (Bytes) async throws -> Void) async throws -> Void)
    /// Reads from the descriptor's own position to its end; neither rewinds nor closes it. With a count it reads so
    /// many bytes at most, and others may write to the file meanwhile.
    case handle(FileHandle, byteCount: Int64? = nil)
    /// Opens the stream if that has not been done; does not close it.
    case stream(StreamBox)

    /// An input stream on its way to the one task that reads it.
    package final class StreamBox: Sendable {
        // `sending` took it from its caller, and one ingest reads it, from one thread at a time.
        nonisolated(unsafe) private let stream: InputStream

        package init(_ stream: sending InputStream) {
            self.stream = stream
        }

        /// Reads up to the buffer's size; 0 at the end.
        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            guard let start = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
            if stream.streamStatus == .notOpen { stream.open() }
            let count = stream.read(start, maxLength: buffer.count)
            if count < 0 { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
            return count
        }
    }
}
