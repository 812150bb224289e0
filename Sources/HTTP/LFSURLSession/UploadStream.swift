#if canImport(Darwin)
import Foundation
import LFSHTTP
import LFSSystem
import Synchronization

/// The writing end of a pair of streams. It writes a request's body whenever the session, which reads the other end,
/// has made room.
///
/// It is unchecked because only its queue uses the stream, the reader and the pending bytes.
final class UploadStream: NSObject, StreamDelegate, @unchecked Sendable {
    /// The number of bytes that the pair holds, and that are read at once.
    private static let pieceSize = 256 << 10

    private let output: OutputStream
    private let queue = DispatchQueue(label: "lfs-upload")
    private var reader: BodyReader
    private var buffer = [UInt8](repeating: 0, count: UploadStream.pieceSize)
    /// The part of the buffer that was read and not written yet.
    private var pending = 0..<0
    private let error = Mutex<(any Error)?>(nil)

    /// Opens a pair of streams for the range. Returns the writing end and the stream for the session.
    static func make(_ range: Range<Int64>, read: @escaping RequestBody.Read) -> (UploadStream, InputStream)? {
        var input: InputStream?
        var output: OutputStream?
        Stream.getBoundStreams(withBufferSize: pieceSize, inputStream: &input, outputStream: &output)
        guard let input, let output else { return nil }
        let stream = UploadStream(output, reader: BodyReader(range, read: read))
        stream.open()
        return (stream, input)
    }

    private init(_ output: OutputStream, reader: BodyReader) {
        self.output = output
        self.reader = reader
    }

    /// The reason why the body could not be read.
    var failure: (any Error)? { error.withLock(\.self) }

    private func open() {
        queue.async { [self] in
            output.delegate = self
            CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
            output.open()
        }
    }

    /// Closes the stream. The session sees the end of the body, or an error if bytes are missing. Later calls have no
    /// effect.
    func end() {
        queue.async { [self] in close() }
    }

    private func close() {
        output.delegate = nil
        CFWriteStreamSetDispatchQueue(output as CFWriteStream, nil)
        output.close()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasSpaceAvailable: withAutoreleasePool { writeNext() }
        case .errorOccurred, .endEncountered: close()
        default: break
        }
    }

    /// Writes once, because the stream reports room again only after a write.
    private func writeNext() {
        do {
            if pending.isEmpty {
                let count = try buffer.withUnsafeMutableBytes { try reader.next(into: $0) }
                guard count > 0 else { return close() }
                pending = 0..<count
            }
            let count = buffer[pending].withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
            }
            guard count > 0 else { return close() }
            pending = pending.lowerBound + count..<pending.upperBound
        } catch {
            self.error.withLock { $0 = error }
            close()
        }
    }
}
#endif
