import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import Synchronization
import Testing

@testable import LFSAzure

/// A service in memory. A script can answer a request. Otherwise the service accepts it. The mutex owns its state.
final class FakeAzure: HTTPTransport {
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders = ["x-ms-request-id": "1", "x-ms-version": "2023-11-03"]
        var body: [UInt8] = []

        /// The reply of a proxy in front of the service.
        static func page(_ status: Int, text: String = "<html>Please sign in</html>") -> Answer {
            Answer(status: status, headers: ["content-type": "text/html", "etag": "\"x\""], body: Array(text.utf8))
        }

        static func refusal(_ status: Int, code: String, message: String = "No.") -> Answer {
            var answer = xml("<Error><Code>\(code)</Code><Message>\(message)</Message></Error>", status: status)
            answer.headers.append(received: "x-ms-error-code", code)
            return answer
        }

        static func xml(_ text: String, status: Int = 200) -> Answer {
            Answer(status: status, body: Array("<?xml version=\"1.0\" encoding=\"utf-8\"?>\(text)".utf8))
        }

        func with(_ name: String, value: String) -> Answer {
            var answer = self
            answer.headers.append(received: name, value)
            return answer
        }
    }

    typealias Script = @Sendable (HTTPRequest, [UInt8]) -> Answer?

    private let script: Script
    private let state = Mutex<[HTTPRequest]>([])
    /// The number of bytes of a body that the service reads.
    let taken: Int64

    init(taken: Int64 = .max, _ script: @escaping Script = { _, _ in nil }) {
        self.taken = taken
        self.script = script
    }

    var requests: [HTTPRequest] { state.withLock { $0 } }

    static let key = Data("a key of an account".utf8).base64EncodedString()

    func storage(
        _ credentials: AzureCredentials = .sharedKey(key), _ change: (inout AzureOptions) -> Void = { _ in }
    ) throws -> AzureStorage {
        var options = AzureOptions()
        options.transport = self
        options.multipartThreshold = 2 << 20
        options.partSize = 1 << 20
        change(&options)
        return try AzureStorage(account: "account", container: "container", credentials: credentials, options: options)
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try Self.bytes(of: request.body)
        state.withLock { $0.append(request) }
        let answer = script(request, body) ?? Self.answer(request, body)
        let head = HTTPResponseHead(status: answer.status, headers: answer.headers)
        if case .sink(let sink, _, let accept) = request.reply, accept(head) {
            try answer.body.withUnsafeBytes { try sink($0) }
            return HTTPResponse(head: head)
        }
        let count = min(Int64(body.count), taken)
        request.onProgress?(count)
        return HTTPResponse(head: head, body: answer.body, bytesSent: count)
    }

    func shutdown() async {}

    private static func answer(_ request: HTTPRequest, _ body: [UInt8]) -> Answer {
        switch request.method {
        case .put:
            Answer(status: 201).with("etag", value: "\"0x1\"").with(
                "x-ms-content-crc64", value: ContentCRC64(of: body).text)
        case .delete: Answer(status: 202)
        case .head: Answer(status: 200).with("content-length", value: "0").with("etag", value: "\"0x1\"")
        default: Answer.refusal(404, code: "BlobNotFound")
        }
    }

    private static func bytes(of body: RequestBody) throws -> [UInt8] {
        switch body {
        case .none: return []
        case .bytes(let bytes): return bytes
        case .reading(let range, let read):
            var bytes = [UInt8](repeating: 0, count: range.count)
            var count = 0
            while count < bytes.count {
                let more = try bytes.withUnsafeMutableBytes { buffer in
                    try read(UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), range.lowerBound + Int64(count))
                }
                if more == 0 { break }
                count += more
            }
            return bytes
        }
    }
}
