import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport

@testable import LFSS3

/// A transport that records requests. The mutex owns its state.
final class CountingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let sent = Mutex<[String]>([])

    init(_ options: S3Options) { base = DefaultTransport.make(HTTPOptions(options.connection)) }

    /// The method and target of each request, in order.
    var requests: [String] { sent.withLock { $0 } }
    /// The numbers of the sent parts, in order.
    var partNumbers: [Int] {
        requests.compactMap { request in
            guard request.hasPrefix("PUT "), let range = request.range(of: "partNumber=") else { return nil }
            return Int(request[range.upperBound...].prefix { $0.isNumber })
        }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        sent.withLock { $0.append("\(request.method.rawValue) \(request.target)") }
        return try await base.send(request)
    }

    func shutdown() async { await base.shutdown() }
}

extension TestServer {
    /// The checks that a server is known to perform.
    var checksPayloadHash: Bool { name != "seaweedfs" && name != "rclone" }
    var checksSHA256: Bool { name == "seaweedfs" || name == "swift" }
    var checksRegion: Bool { name == "swift" }
    var knowsVirtualHosts: Bool { name == "seaweedfs" || name == "swift" }

    /// Returns true if the server cannot list objects below a prefix.
    func isConfusedInListings(by prefix: String) -> Bool {
        switch name {
        case "seaweedfs": prefix.contains("//") || prefix.contains("\\")
        case "juicefs": prefix.contains("//")
        default: false
        }
    }

    /// Returns true if the server accepts no object below a prefix.
    func refuses(_ prefix: String) -> Bool { name == "rclone" && prefix.contains("//") }

    static let multipart = all.filter(\.speaksMultipart)

    /// Returns a unique key.
    static func newKey(_ folder: String = "special") throws -> ObjectKey {
        try ObjectKey("\(folder)/\(UUID().uuidString.lowercased())")
    }

    /// Returns a storage for large files and its transport.
    func counted(
        overTLS: Bool = false, _ change: (inout S3Options) -> Void = { _ in }
    ) async throws -> (S3Storage, CountingTransport) {
        try await TestBuckets.shared.require(self)
        var options = options {
            $0.multipartThreshold = 1
            $0.partSize = 5 << 20
            $0.maxConcurrentParts = 1
            $0.certificateAuthorities = certificate
            change(&$0)
        }
        let transport = CountingTransport(options)
        options.transport = transport
        let location = try S3Location(
            bucket: Self.bucket, prefix: "", endpoint: overTLS ? secureEndpoint : endpoint, addressing: .path)
        let storage = try S3Storage(
            location, region: region, credentials: .static(credentials), options: options,
            clock: SigningClock())
        return (storage, transport)
    }
}

extension S3Storage {
    /// Returns the bytes of an object.
    func contents(_ key: ObjectKey) async throws -> [UInt8] {
        let bytes = Mutex<[UInt8]>([])
        _ = try await download(DownloadRequest(key), into: DownloadSink { piece in bytes.withLock { $0 += piece } })
        return bytes.withLock { $0 }
    }

    /// Returns the ids of a key's uploads that are neither complete nor aborted.
    func openUploads(_ key: ObjectKey) async throws -> [String] {
        try await client.uploads(below: key.rawValue, after: nil).uploads.map(\.uploadID)
    }
}

/// Returns the storage error of a call, or nil after success.
func storageError(_ body: () async throws -> some Sendable) async throws -> StorageError? {
    do {
        _ = try await body()
        return nil
    } catch let error as StorageError {
        return error
    }
}
