import Foundation
import LFSHTTP
import LFSSystem
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if canImport(Darwin)
/// The body of a request as the session takes it: nothing, bytes, or a stream that reads while it is sent.
///
/// The mutex owns the current stream.
final class UploadBody: Sendable {
    private let body: RequestBody
    private let stream = Mutex<UploadStream?>(nil)

    init(_ body: RequestBody) async throws { self.body = body }

    /// The reason why the body could not be read.
    var failure: (any Error)? { stream.withLock(\.self)?.failure }

    func makeTask(in session: URLSession, message: URLRequest) -> URLSessionTask {
        switch body {
        case .none: session.dataTask(with: message)
        case .bytes(let bytes): session.uploadTask(with: message, from: Data(bytes))
        case .reading: session.uploadTask(withStreamedRequest: message)
        }
    }

    /// Returns a stream of the whole body. The session calls this again to send the request a second time, for example
    /// after a kept connection turned out to be dead.
    func makeStream() -> InputStream? {
        guard case .reading(let range, let read) = body, let (new, input) = UploadStream.make(range, read: read) else {
            return nil
        }
        let old = stream.withLock { stream in
            defer { stream = new }
            return stream
        }
        old?.end()
        return input
    }

    func remove() { stream.withLock(\.self)?.end() }
}
#else
/// The body of a request as the session takes it: nothing, bytes, or a temporary file.
///
/// Foundation on Linux sends a stream without its length, which storages refuse. So the range is copied first.
final class UploadBody: Sendable {
    private let body: RequestBody
    let copy: URL?
    let failure: (any Error)? = nil

    /// - Throws: ``HTTPError/Code/bodyUnreadable``.
    init(_ body: RequestBody) async throws {
        self.body = body
        guard case .reading(let range, let read) = body else {
            copy = nil
            return
        }
        let url = FileManager.default.temporaryDirectory.appending(path: "lfs-\(UUID().uuidString).body")
        copy = url
        do {
            try await BlockingPool.shared.run { flag in try Self.write(range, read: read, to: url, flag: flag) }
        } catch {
            remove()
            if error is CancellationError { throw Exchange.cancellation }
            throw error
        }
    }

    private static func write(
        _ range: Range<Int64>, read: @escaping RequestBody.Read, to url: URL, flag: CancellationFlag
    ) throws {
        _ = FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
        let file = try FileHandle(forWritingTo: url)
        var reader = BodyReader(range, read: read)
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            try flag.check()
            let count = try piece.withUnsafeMutableBytes { buffer throws(HTTPError) in try reader.next(into: buffer) }
            guard count > 0 else { return try file.close() }
            try file.write(contentsOf: piece.prefix(count))
        }
    }

    func makeTask(in session: URLSession, message: URLRequest) -> URLSessionTask {
        if let copy { return session.uploadTask(with: message, fromFile: copy) }
        guard case .bytes(let bytes) = body else { return session.dataTask(with: message) }
        return session.uploadTask(with: message, from: Data(bytes))
    }

    func remove() {
        guard let copy else { return }
        // The system removes a temporary file that cannot be removed here.
        _ = Result { try FileManager.default.removeItem(at: copy) }
    }
}
#endif
