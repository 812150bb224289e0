import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Tests over TLS against a server that stores the CRC-64/NVME of whole objects.
@Suite("Multipart uploads with a CRC-64 of the whole object", .timeLimit(.minutes(10)))
struct MultipartChecksumTests {
    private let bytes = SampleBytes.make((2 << 20) + 77)
    private let provider = S3Provider(name: "strict") {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.keepsChecksums = true
        $0.minimumPartSize = 1
        $0.fullObjectCRC64 = true
    }

    private func withServer(
        overTLS: Bool = true, _ body: (FakeS3, S3Storage) async throws -> Void
    ) async throws {
        try await withFakeS3(provider, overTLS: overTLS, options: { $0.multipartThreshold = 1 }, body)
    }

    @Test("Parts are neither hashed nor signed, and the whole checksum proves the object") func whole() async throws {
        try await withServer { fake, storage in
            let source = try UploadSource.recorded(bytes)
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.stored == bytes)
            let parts = fake.requests.filter { $0.target.contains("partNumber") }
            #expect(parts.count == 3)
            for part in parts {
                #expect(part.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
                #expect(part.headers["x-amz-checksum-sha256"] == nil)
            }
            let completion = try #require(fake.requests.last)
            #expect(completion.headers["x-amz-checksum-crc64nvme"] == FakeS3.crc64(bytes))
            #expect(completion.headers["x-amz-content-sha256"] != "UNSIGNED-PAYLOAD")
        }
    }

    @Test("The CRC-64 is used only over TLS, with a recorded value and a capable server") func choice() throws {
        let (with, without) = (try UploadSource.recorded([1]), try UploadSource.temporary([1]))
        #expect(MultipartChecksum(provider, isSecure: true, source: with) == .crc64NVME)
        #expect(MultipartChecksum(provider, isSecure: false, source: with) == .sha256)
        #expect(MultipartChecksum(provider, isSecure: true, source: without) == .sha256)
        #expect(MultipartChecksum(.strict, isSecure: true, source: with) == .sha256)
        #expect(MultipartChecksum(.plain, isSecure: true, source: with) == .none)
    }

    @Test("Without TLS every part is signed") func inTheClear() async throws {
        try await withServer(overTLS: false) { fake, storage in
            _ = try await storage.upload(.recorded(bytes), to: .sample(), session: .init())
            #expect(fake.stored == bytes)
            #expect(!fake.requests.contains { $0.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD" })
        }
    }

    @Test("An interrupted upload resumes with the parts whose checksums match", arguments: [true, false])
    func resumed(_ tellsChecksums: Bool) async throws {
        try await withServer { fake, storage in
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.recorded(bytes)
            _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            let uploadID = try #require(saved.value?.uploadID)
            // The checkpoint has the checksums that the server does not return.
            if !tellsChecksums {
                for part in 1...2 { fake.change(part, ofUpload: uploadID) { $0.fields.dropChecksum() } }
            }
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == [.parts, .part, .complete])
            #expect(fake.stored == bytes)
        }
    }

    @Test("A part that the server stores differently is sent again") func otherPart() async throws {
        try await withServer { fake, storage in
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.recorded(bytes)
            _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            fake.change(2, ofUpload: try #require(saved.value?.uploadID)) {
                $0.bytes[7] ^= 1
                $0.fields["x-amz-checksum-crc64nvme"] = FakeS3.crc64($0.bytes)
            }
            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.operations == [.parts, .part, .part, .complete])
            #expect(fake.stored == bytes)
        }
    }

    @Test("An upload begun with SHA-256 is not resumed with CRC-64") func otherBeginning() async throws {
        try await withServer { fake, storage in
            fake.fail(.part, after: 1) { try $0.refuse(.error(500, code: "InternalError")) }
            let saved = SavedCheckpoint()
            // An earlier version of the app did not record the CRC-64 of the file.
            let (old, source) = (try UploadSource.temporary(bytes), try UploadSource.recorded(bytes))
            _ = try await failure { try await storage.upload(old, to: .sample(), session: saved.session) }
            #expect(saved.value?.checksum == .sha256)
            let object = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(object.sha256 == source.sha256)
            #expect(fake.uploads.isEmpty)
            #expect(saved.value?.checksum == .crc64NVME)
        }
    }

    @Test("A wrong checksum of a part or object fails the upload", arguments: [FakeS3.Operation.part, .complete])
    func lie(_ operation: FakeS3.Operation) async throws {
        try await withServer { fake, storage in
            let other = try #require(FakeS3.crc64([1]))
            fake.fail(operation) { exchange in
                var reply = try exchange.act()
                reply.headers["x-amz-checksum-crc64nvme"] = other
                if operation == .complete {
                    reply = .xml(
                        "<CompleteMultipartUploadResult><ETag>\"x-3\"</ETag>"
                            + "<ChecksumCRC64NVME>\(other)</ChecksumCRC64NVME></CompleteMultipartUploadResult>")
                }
                try exchange.send(reply)
            }
            let error = try await failure {
                try await storage.upload(.recorded(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
        }
    }

    @Test("After a completion without a checksum the object is checked", arguments: [true, false])
    func silentCompletion(_ isSame: Bool) async throws {
        try await withServer { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                if !isSame {
                    fake.store(
                        [UInt8](repeating: 0, count: bytes.count), at: "folder/file",
                        fields: ["etag": "\"x\"", "x-amz-checksum-crc64nvme": FakeS3.crc64([1]) ?? ""])
                }
                try exchange.send(
                    .xml("<CompleteMultipartUploadResult><ETag>\"x-3\"</ETag></CompleteMultipartUploadResult>"))
            }
            let source = try UploadSource.recorded(bytes)
            if isSame {
                let object = try await storage.upload(source, to: .sample(), session: .init())
                #expect(object.sha256 == source.sha256)
            } else {
                let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
                #expect(error.code == .integrity)
            }
            // The first HEAD checks whether the object already exists.
            #expect(fake.count(.head) == 2)
        }
    }

    @Test("A wrong recorded CRC-64 is corrected if the recorded SHA-256 matches the bytes") func wrongRow() async throws
    {
        try await withServer { fake, storage in
            let source = try UploadSource.recorded(bytes, crc64: "0123456789abcdef")
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.stored == bytes)
            #expect(fake.requests.last?.headers["x-amz-checksum-crc64nvme"] == FakeS3.crc64(bytes))
        }
    }

    @Test("Changed local bytes make no object") func rotten() async throws {
        try await withServer { fake, storage in
            var rotten = bytes
            rotten[bytes.count / 2] ^= 1
            let recorded = try UploadSource.recorded(bytes)
            let source = try UploadSource.recorded(rotten, sha256: recorded.sha256, crc64: recorded.crc64)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
            #expect(error.code == .sourceChanged)
            #expect(fake.stored == nil)
            #expect(fake.uploads.isEmpty)
        }
    }
}

extension UploadSource {
    /// Makes a source with a recorded CRC-64.
    ///
    /// - Parameters:
    ///   - sha256: the recorded SHA-256. The default is the correct one.
    ///   - crc64: the recorded CRC-64. The default is the correct one.
    static func recorded(_ bytes: [UInt8], sha256: String? = nil, crc64: String? = nil) throws -> UploadSource {
        let source = try temporary(bytes)
        var check = CyclicRedundancyCheck(.crc64NVME)
        bytes.withUnsafeBytes { check.update($0) }
        return UploadSource(
            byteCount: source.byteCount, sha256: sha256 ?? source.sha256, crc64: crc64 ?? check.hex, contentType: nil,
            name: nil, reading: { try source.read(into: $0, at: $1) })
    }
}

extension [String: String] {
    fileprivate mutating func dropChecksum() { self["x-amz-checksum-crc64nvme"] = nil }
}
