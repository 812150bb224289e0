import Foundation
import LFSHTTP
import Synchronization

@testable import LFSWebDAV

/// A WebDAV server in memory. A script can answer a request. Otherwise the server follows the standard. The mutex owns
/// its state.
final class FakeDAV: HTTPTransport {
    struct Answer: Sendable {
        var status: Int
        var headers: HTTPHeaders = [:]
        var body: [UInt8] = []

        static func page(_ status: Int, text: String = "<html>Please sign in</html>") -> Answer {
            Answer(status: status, headers: ["content-type": "text/html"], body: Array(text.utf8))
        }

        static func xml(_ text: String) -> Answer { Answer(status: 207, body: Array(text.utf8)) }
    }

    typealias Script = @Sendable (HTTPRequest, FakeDAV) -> Answer?

    private struct State {
        var files: [String: [UInt8]] = [:]
        var folders: Set<String> = ["/dav/"]
        var requests: [HTTPRequest] = []
    }

    private let script: Script
    private let state = Mutex(State())

    init(_ script: @escaping Script = { _, _ in nil }) { self.script = script }

    var files: [String: [UInt8]] { state.withLock { $0.files } }
    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func storage(
        credentials: WebDAVCredentials = .none, at path: String = "/dav",
        _ change: (inout WebDAVOptions) -> Void = { _ in }
    ) throws -> WebDAVStorage {
        var options = WebDAVOptions()
        options.transport = self
        change(&options)
        return try WebDAVStorage(
            url: URL(string: "https://host\(path)").unsafelyUnwrapped, credentials: credentials, options: options)
    }

    func put(_ path: String, bytes: [UInt8]) {
        state.withLock { state in
            state.files[path] = bytes
            var folder = path[...]
            while let slash = folder.lastIndex(of: "/") {
                state.folders.insert(String(folder[...slash]))
                folder = folder[..<slash]
            }
        }
    }

    func remove(_ path: String) { state.withLock { $0.files[path] = nil } }

    // MARK: HTTPTransport

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let count = request.body.byteCount
        let body = try Self.bytes(of: request.body)
        state.withLock { $0.requests.append(request) }
        let answer = script(request, self) ?? state.withLock { Self.answer(request, body, state: &$0) }
        let head = HTTPResponseHead(status: answer.status, headers: answer.headers)
        if case .sink(let sink, _, let accept) = request.reply, accept(head) {
            for start in stride(from: 0, to: answer.body.count, by: 7) {
                try answer.body[start..<min(start + 7, answer.body.count)].withUnsafeBytes { try sink($0) }
            }
            return HTTPResponse(head: head, bytesSent: count)
        }
        request.onProgress?(count)
        return HTTPResponse(head: head, body: answer.body, bytesSent: count)
    }

    func shutdown() async {}

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

    // MARK: Standard replies

    private static func answer(_ request: HTTPRequest, _ body: [UInt8], state: inout State) -> Answer {
        let path = request.target
        let folder = String(path[...(path.dropLast().lastIndex(of: "/") ?? path.startIndex)])
        switch request.method.rawValue {
        case "PUT":
            guard state.folders.contains(folder) else { return Answer(status: 409) }
            state.files[path] = body
            return Answer(status: 201)
        case "MKCOL":
            if !state.folders.contains(folder) { return Answer(status: 409) }
            return Answer(status: state.folders.insert(path).inserted ? 201 : 405)
        case "DELETE": return Answer(status: state.files.removeValue(forKey: path) == nil ? 404 : 204)
        case "MOVE":
            let target = request.headers["destination"]?.replacing("https://host", with: "") ?? ""
            guard let bytes = state.files[path] else { return Answer(status: 404) }
            let isTaken = state.files[target] != nil || state.folders.contains(target + "/")
            if isTaken, request.headers["overwrite"] == "F" { return Answer(status: 412) }
            state.files[path] = nil
            return Answer(status: state.files.updateValue(bytes, forKey: target) == nil ? 201 : 204)
        case "GET":
            guard let bytes = state.files[path] else { return Answer(status: 404) }
            let length = ("content-length", String(bytes.count))
            return Answer(status: 200, headers: HTTPHeaders(dictionaryLiteral: length, ("etag", "\"1\"")), body: bytes)
        case "PROPFIND": return properties(of: path, depth: request.headers["depth"] ?? "", state)
        default: return Answer(status: 405)
        }
    }

    private static func properties(of path: String, depth: String, _ state: State) -> Answer {
        // A folder is also found without its trailing slash.
        let folder = path.hasSuffix("/") ? path : path + "/"
        let isFolder = state.folders.contains(folder)
        guard state.files[path] != nil || isFolder else { return Answer(status: 404) }
        var entries = [isFolder ? folder : path]
        if depth == "1" {
            entries += (Array(state.files.keys) + Array(state.folders)).filter { name in
                name.hasPrefix(path) && name != path && !name.dropFirst(path.count).dropLast().contains("/")
            }
        }
        return .xml(multistatus(entries.map { entry($0, size: state.files[$0]?.count) }))
    }

    static func multistatus(_ entries: [String]) -> String {
        "<?xml version=\"1.0\"?>\n<D:multistatus xmlns:D=\"DAV:\">\(entries.joined())</D:multistatus>"
    }

    /// - Parameter size: nil for a folder.
    static func entry(_ href: String, size: Int?) -> String {
        let type = size == nil ? "<D:collection/>" : ""
        let length = size.map { "<D:getcontentlength>\($0)</D:getcontentlength>" } ?? ""
        return """
            <D:response><D:href>\(href)</D:href><D:propstat><D:prop><D:resourcetype>\(type)</D:resourcetype>\(length)\
            </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
            """
    }
}
