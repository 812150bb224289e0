import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport

@testable import LFSS3

/// Sends requests on, and notes them. Owner of its state: the mutex.
final class CountingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let sent = Mutex<[String]>([])

    init(_ options: S3Options) { base = DefaultTransport.make(HTTPOptions(options.connection)) }

    /// Method and target of each request, in order.
    var requests: [String] { sent.withLock { $0 } }
    /// The numbers of the parts that went out, in order.
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
    /// What a server is known to let pass.
    var checksPayloadHash: Bool { name != "seaweedfs" && name != "rclone" }
    var checksSHA256: Bool { name == "seaweedfs" || name == "swift" }
    var checksRegion: Bool { name == "swift" }
    var knowsVirtualHosts: Bool { name == "seaweedfs" || name == "swift" }

    /// Whether it cannot list what it stores below such a prefix.
    func isConfusedInListings(by prefix: String) -> Bool {
        switch name {
        case "seaweedfs": prefix.contains("//") || prefix.contains("\\")
        case "juicefs": prefix.contains("//")
        default: false
        }
    }

    /// Whether it takes no object below such a prefix.
    func refuses(_ prefix: String) -> Bool { name == "rclone" && prefix.contains("//") }

    static let multipart = all.filter(\.speaksMultipart)

    /// A key that no other test has.
    static func newKey(_ folder: String = "special") throws -> ObjectKey {
        try ObjectKey("\(folder)/\(UUID().uuidString.lowercased())")
    }

    /// A storage for large files, and what it sends.
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
    /// The whole object.
    func contents(_ key: ObjectKey) async throws -> [UInt8] {
        let bytes = Mutex<[UInt8]>([])
        _ = try await download(DownloadRequest(key), into: DownloadSink { piece in bytes.withLock { $0 += piece } })
        return bytes.withLock { $0 }
    }

    /// The ids of the uploads of a key that are neither complete nor aborted.
    func openUploads(_ key: ObjectKey) async throws -> [String] {
        try await client.uploads(below: key.rawValue, after: nil).uploads.map(\.uploadID)
    }
}

/// The storage error that a call ends with; nil when it ends well.
func storageError(_ body: () async throws -> some Sendable) async throws -> StorageError? {
    do {
        _ = try await body()
        return nil
    } catch let error as StorageError {
        return error
    }
}
