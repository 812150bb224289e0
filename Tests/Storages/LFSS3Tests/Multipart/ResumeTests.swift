import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Resumption of an upload in parts", .timeLimit(.minutes(10)))
struct ResumeTests {
    private static let anew: [FakeS3.Operation] = [.head, .uploads, .create, .part, .part, .part, .complete]
    private let bytes = SampleBytes.make((2 << 20) + 77)

    /// Interrupts an upload after two of three parts, lets the test change something, and resumes.
    private func resumed(
        _ provider: S3Provider = .strict, _ change: (FakeS3, SavedCheckpoint) throws -> SavedCheckpoint
    ) async throws -> [FakeS3.Operation] {
        var operations: [FakeS3.Operation] = []
        try await withFakeS3(provider) {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(saved.value?.parts.count == 2)
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: change(fake, saved).session)
            #expect(object.sha256 == source.sha256)
            #expect(fake.stored == bytes)
            #expect(fake.uploads.isEmpty)
            operations = fake.operations
        }
        return operations
    }

    @Test("A resumed upload sends only the missing parts", arguments: [S3Provider.strict, .plain])
    func missingOnly(_ provider: S3Provider) async throws {
        // One provider proves the object by a checksum over the parts' checksums, the other by a tag over their MD5s.
        try await #expect(resumed(provider) { $1 } == [.parts, .part, .complete])
    }

    /// A fault that lists parts and uploads with unknown element names.
    private static let otherWords: FakeS3.Fault = {
        try $0.refuse(.xml("<ListThingsResponse><IsTruncated>false</IsTruncated></ListThingsResponse>"))
    }

    @Test("An upload restarts after two lists with unknown elements")
    func otherWords() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
            for operation in [FakeS3.Operation.parts, .uploads] {
                fake.fail(operation, times: .max, fault: Self.otherWords)
            }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            for _ in 1...2 {
                _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            }
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.stored == bytes)
            #expect(fake.uploads.isEmpty)
            #expect(fake.count(.part) == 3 + 3, "\(fake.operations)")
        }
    }

    @Test("An upload is aborted although its parts have unknown elements") func otherWordsGivenUp() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
            fake.fail(.parts, times: .max, fault: Self.otherWords)
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            try await storage.delete(.sample(), abandoning: saved.last)
            #expect(fake.uploads.isEmpty)
        }
    }

    @Test("A part that the server stores with another size is sent again") func otherSize() async throws {
        let operations = try await resumed { fake, saved in
            fake.change(1, ofUpload: "upload-1") { $0.bytes.removeLast() }
            return saved
        }
        #expect(operations == [.parts, .part, .part, .complete])
    }

    @Test("A part that the server stores with another checksum is sent again") func otherChecksum() async throws {
        let operations = try await resumed { fake, saved in
            fake.change(2, ofUpload: "upload-1") {
                $0.fields["x-amz-checksum-sha256"] = Base64.text(hex: SampleBytes.sha256([1]))
            }
            return saved
        }
        #expect(operations == [.parts, .part, .part, .complete])
    }

    @Test("A part with an unknown entity tag is sent again") func otherTag() async throws {
        let operations = try await resumed(.plain) { fake, saved in
            fake.change(1, ofUpload: "upload-1") { $0.fields["etag"] = "\"from-elsewhere\"" }
            return saved
        }
        #expect(operations == [.parts, .part, .part, .complete])
    }

    @Test("A part that is recorded but not listed is sent again") func notListed() async throws {
        let operations = try await resumed { fake, saved in
            fake.dropPart(1, ofUpload: "upload-1")
            return saved
        }
        #expect(operations == [.parts, .part, .part, .complete])
    }

    @Test("A part that is listed and matches is used although its record was lost") func noteLost() async throws {
        let operations = try await resumed { _, saved in
            var value = try #require(saved.value)
            value.parts = [:]
            return try SavedCheckpoint(value.encoded())
        }
        #expect(operations == [.parts, .part, .complete])
    }

    @Test("An upload that the server has forgotten fails once and then restarts") func forgotten() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let source = try UploadSource.temporary(bytes)
            let checkpoint = MultipartCheckpoint(
                uploadID: "upload-of-long-ago", source: source, partSize: 1 << 20, .sha256)
            let saved = SavedCheckpoint(try checkpoint.encoded())
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == [.parts, .head])
            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.operations == Self.anew)
        }
    }

    /// The reasons why a checkpoint cannot be used.
    enum Unusable: String, CaseIterable, Sendable {
        case empty, noise, otherJSON, otherContent, otherSize, otherChecksums, senselessParts, tooManyParts
    }

    @Test("An unusable checkpoint restarts the upload", arguments: Unusable.allCases)
    func foreignCheckpoint(_ unusable: Unusable) async throws {
        let operations = try await resumed { _, saved in
            var value = try #require(saved.value)
            switch unusable {
            case .empty: return SavedCheckpoint(UploadCheckpoint(rawValue: Data()))
            case .noise: return SavedCheckpoint(UploadCheckpoint(rawValue: Data(SampleBytes.make(200))))
            case .otherJSON: return SavedCheckpoint(UploadCheckpoint(rawValue: Data("{\"uploadID\":7}".utf8)))
            case .otherContent: value.sha256 = SampleBytes.sha256([1])
            case .otherSize: value.byteCount += 1
            case .otherChecksums: value.checksum = .none
            case .senselessParts: value.partSize = 0
            case .tooManyParts: value.partSize = 1
            }
            return try SavedCheckpoint(value.encoded())
        }
        // The earlier upload without a usable checkpoint is aborted first.
        #expect(operations == [.head, .uploads, .abort, .parts] + Self.anew.dropFirst(2))
    }
}
