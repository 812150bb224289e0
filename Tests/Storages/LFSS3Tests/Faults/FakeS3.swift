import Crypto
import Foundation
import LFSHTTPStorage
import LFSSystem
import Synchronization
import TestSupport

@testable import LFSS3

/// An S3 server in this process. It stores objects and uploads in parts, checks request bodies, and fails where a test
/// sets a fault.
///
/// The mutex owns its state.
final class FakeS3: Sendable {
    enum Operation: String, Sendable, CaseIterable {
        case put, get, head, delete, list, create, part, parts, complete, abort, uploads
    }

    struct Object: Sendable {
        var bytes: [UInt8]
        /// The headers of a HEAD reply: entity tag, content type, metadata and checksum.
        var fields: [String: String]
    }

    struct Upload: Sendable {
        let path: String
        let fields: [String: String]
        /// Indicates that a CRC-64/NVME proves its parts and its object.
        let hasCRC64: Bool
        var parts: [Int: Object] = [:]
    }

    /// Answers one request in place of the server.
    typealias Fault = @Sendable (FakeExchange) throws -> Void

    private struct Plan {
        let operation: Operation?
        var skipped: Int
        var times: Int
        let fault: Fault
    }

    private struct State {
        var operations: [Operation] = []
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var begun = 0
        var plans: [Plan] = []
    }

    /// Indicates that the server stores and returns SHA-256 checksums.
    let tellsChecksums: Bool
    /// Indicates that entity tags are MD5s even if the client sent none.
    let tagsAreMD5: Bool
    private let state = Mutex(State())
    private let server = Mutex<ScriptedServer?>(nil)

    /// - Parameter receiveBuffer: the receive buffer of ``ScriptedServer``.
    init(tellsChecksums: Bool = true, tagsAreMD5: Bool = false, receiveBuffer: Int32? = nil) throws {
        self.tellsChecksums = tellsChecksums
        self.tagsAreMD5 = tagsAreMD5
        let server = try ScriptedServer(receiveBuffer: receiveBuffer) { [weak self] request, connection in
            try self?.serve(request, connection: connection)
        }
        self.server.withLock { $0 = server }
    }

    var url: URL { server.withLock { $0?.url } ?? URL(fileURLWithPath: "/") }
    /// The received operations, in order.
    var operations: [Operation] { state.withLock(\.operations) }
    /// The heads of the received requests, in order.
    var requests: [ServerRequest] { server.withLock { $0?.requests } ?? [] }
    /// The objects by their paths without the bucket.
    var objects: [String: Object] { state.withLock(\.objects) }
    /// The uploads that are neither complete nor aborted.
    var uploads: [String: Upload] { state.withLock(\.uploads) }

    func count(_ operation: Operation) -> Int { operations.count { $0 == operation } }
    func forgetOperations() { state.withLock { $0.operations = [] } }
    func store(_ bytes: [UInt8], at key: String, fields: [String: String] = ["etag": "\"other\""]) {
        state.withLock { $0.objects["/\(key)"] = Object(bytes: bytes, fields: fields) }
    }
    func forgetUploads() { state.withLock { $0.uploads = [:] } }
    func dropPart(_ number: Int, ofUpload id: String) {
        state.withLock { _ = $0.uploads[id]?.parts.removeValue(forKey: number) }
    }
    func change(_ part: Int, ofUpload id: String, _ change: (inout Object) -> Void) {
        state.withLock { state in
            if var object = state.uploads[id]?.parts[part] {
                change(&object)
                state.uploads[id]?.parts[part] = object
            }
        }
    }

    /// Makes a fault answer requests of an operation, or of every operation if it is nil.
    ///
    /// - Parameters:
    ///   - skipped: the number of requests that are answered normally first.
    ///   - times: the number of requests that the fault answers.
    func fail(_ operation: Operation?, after skipped: Int = 0, times: Int = 1, fault: @escaping Fault) {
        state.withLock { $0.plans.append(Plan(operation: operation, skipped: skipped, times: times, fault: fault)) }
    }

    func close() { server.withLock { $0?.close() } }

    private func serve(_ request: ServerRequest, connection: ServerConnection) throws {
        let exchange = FakeExchange(fake: self, request: request, connection: connection)
        let fault = state.withLock { state -> Fault? in
            state.operations.append(exchange.operation)
            for index in state.plans.indices
            where state.plans[index].operation.map({ $0 == exchange.operation }) ?? true {
                if state.plans[index].skipped > 0 {
                    state.plans[index].skipped -= 1
                } else if state.plans[index].times > 0 {
                    state.plans[index].times -= 1
                    return state.plans[index].fault
                }
            }
            return nil
        }
        if let fault { try fault(exchange) } else { try exchange.send(exchange.act()) }
    }

    // MARK: Requests

    func put(_ exchange: FakeExchange, _ body: [UInt8]) -> FakeReply {
        if let refusal = refusal(exchange, body) { return refusal }
        var object = Object(bytes: body, fields: exchange.objectFields)
        object.fields.merge(proof(exchange, body)) { $1 }
        return state.withLock { state in
            if exchange.request.headers["if-none-match"] != nil, state.objects[exchange.path] != nil {
                return .error(412, code: "PreconditionFailed")
            }
            state.objects[exchange.path] = object
            return FakeReply(200, headers: proof(exchange, body))
        }
    }

    func create(_ exchange: FakeExchange) -> FakeReply {
        let id = state.withLock { state in
            state.begun += 1
            let headers = exchange.request.headers
            state.uploads["upload-\(state.begun)"] = Upload(
                path: exchange.path, fields: exchange.objectFields,
                hasCRC64: headers["x-amz-checksum-algorithm"] == "CRC64NVME"
                    && headers["x-amz-checksum-type"] == "FULL_OBJECT")
            return "upload-\(state.begun)"
        }
        return .xml("<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>")
    }

    func part(_ exchange: FakeExchange, _ body: [UInt8]) -> FakeReply {
        if let refusal = refusal(exchange, body) { return refusal }
        let (id, number) = (exchange.query["uploadId"] ?? "", exchange.query["partNumber"].flatMap { Int($0) } ?? 0)
        let object = Object(bytes: body, fields: proof(exchange, body))
        return state.withLock { state in
            guard state.uploads[id] != nil else { return .error(404, code: "NoSuchUpload") }
            state.uploads[id]?.parts[number] = object
            return FakeReply(200, headers: object.fields)
        }
    }

    func complete(_ exchange: FakeExchange, _ body: [UInt8]) throws -> FakeReply {
        let root = try XMLReader.read(body, root: "CompleteMultipartUpload")
        return try state.withLock { state in
            guard let upload = state.uploads[exchange.query["uploadId"] ?? ""] else {
                return .error(404, code: "NoSuchUpload")
            }
            if exchange.request.headers["if-none-match"] != nil, state.objects[exchange.path] != nil {
                return .error(412, code: "PreconditionFailed")
            }
            var (bytes, digests, tags, count) = ([] as [UInt8], ContentHash(), Insecure.MD5(), 0)
            for element in root.all("Part") {
                let number = try element.required("PartNumber", in: 1...10_000)
                guard let part = upload.parts[number], part.fields["etag"] == element.optional("ETag") else {
                    return .error(400, code: "InvalidPart")
                }
                count += 1
                bytes += part.bytes
                let digest = Hex.bytes(SampleBytes.sha256(part.bytes)) ?? []
                digest.withUnsafeBytes { digests.update($0) }
                tags.update(data: Array(Insecure.MD5.hash(data: part.bytes)))
            }
            let checksum = (Base64.text(hex: digests.hex) ?? "") + "-\(count)"
            var fields = upload.fields
            let crc64 = upload.hasCRC64 ? Self.crc64(bytes) : nil
            if exchange.request.headers["x-amz-checksum-crc64nvme"] != crc64 { return .error(400, code: "BadDigest") }
            let tag = tagsAreMD5 ? "\(Hex.text(tags.finalize()))-\(count)" : "whole-\(count)"
            fields["etag"] = "\"\(tag)\""
            if let crc64 {
                fields["x-amz-checksum-crc64nvme"] = crc64
                fields["x-amz-checksum-type"] = "FULL_OBJECT"
            } else if tellsChecksums {
                fields["x-amz-checksum-sha256"] = checksum
                fields["x-amz-checksum-type"] = "COMPOSITE"
            }
            state.objects[upload.path] = Object(bytes: bytes, fields: fields)
            state.uploads[exchange.query["uploadId"] ?? ""] = nil
            return .xml(
                "<CompleteMultipartUploadResult><ETag>&quot;\(tag)&quot;</ETag>"
                    + (tellsChecksums && crc64 == nil ? "<ChecksumSHA256>\(checksum)</ChecksumSHA256>" : "")
                    + (crc64.map { "<ChecksumCRC64NVME>\($0)</ChecksumCRC64NVME>" } ?? "")
                    + "</CompleteMultipartUploadResult>")
        }
    }

    func abort(_ exchange: FakeExchange) -> FakeReply {
        let upload = state.withLock { $0.uploads.removeValue(forKey: exchange.query["uploadId"] ?? "") }
        return upload == nil ? .error(404, code: "NoSuchUpload") : FakeReply(204)
    }

    func delete(_ exchange: FakeExchange) -> FakeReply {
        state.withLock { _ = $0.objects.removeValue(forKey: exchange.path) }
        return FakeReply(204, headers: ["x-amz-request-id": "1"])
    }

    /// Returns the refusal of a body, as a strict server sends it.
    private func refusal(_ exchange: FakeExchange, _ body: [UInt8]) -> FakeReply? {
        let sha256 = SampleBytes.sha256(body)
        let headers = exchange.request.headers
        if let crc64 = headers["x-amz-checksum-crc64nvme"], headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD" {
            return crc64 == Self.crc64(body) ? nil : .error(400, code: "BadDigest")
        }
        // A presigned request has no hash of its body.
        let isPresigned = exchange.query["X-Amz-Signature"] != nil
        guard isPresigned || headers["x-amz-content-sha256"] == sha256 else {
            return .error(400, code: "XAmzContentSHA256Mismatch")
        }
        let checksum = headers["x-amz-checksum-sha256"]
        return checksum.map { $0 != Base64.text(hex: sha256) } ?? false ? .error(400, code: "BadDigest") : nil
    }

    /// Returns the entity tag and the checksum of a body. The tag is its MD5 if the client sent one.
    func proof(_ exchange: FakeExchange, _ body: [UInt8]) -> [String: String] {
        let sha256 = SampleBytes.sha256(body)
        let isMD5 = tagsAreMD5 || exchange.request.headers["content-md5"] != nil
        let tag = isMD5 ? Hex.text(Insecure.MD5.hash(data: body)) : "tag-" + sha256.prefix(12)
        var fields = ["etag": "\"\(tag)\""]
        if exchange.request.headers["x-amz-checksum-crc64nvme"] != nil {
            fields["x-amz-checksum-crc64nvme"] = Self.crc64(body)
        } else if tellsChecksums {
            fields["x-amz-checksum-sha256"] = Base64.text(hex: sha256)
        }
        return fields
    }

    /// Returns the CRC-64/NVME in base64.
    static func crc64(_ bytes: [UInt8]) -> String? {
        var check = CyclicRedundancyCheck(.crc64NVME)
        bytes.withUnsafeBytes { check.update($0) }
        return Base64.text(hex: check.hex)
    }
}
