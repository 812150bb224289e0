import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Series of blocks", .timeLimit(.minutes(10)))
struct BlockSeriesTests {
    /// A service that keeps the blocks of one blob until they are committed. The mutex owns its state.
    private final class BlockService: Sendable {
        enum Fault: Sendable {
            /// The service keeps the block and reports the checksum of other bytes.
            case otherChecksum
            /// The service refuses the block.
            case refusal(status: Int, code: String)
        }

        private struct State {
            var blocks: [String: Int] = [:]
            /// The names of the blocks that were sent, in order.
            var sent: [String] = []
            var faults: [Int: Fault] = [:]
            var committed = ""
        }

        private let byteCount: Int
        private let state = Mutex(State())

        /// - Parameters:
        ///   - byteCount: the size of the blob.
        ///   - faults: the faults by the number of the sent block, starting at 1.
        init(_ byteCount: Int, faults: [Int: Fault]) {
            self.byteCount = byteCount
            state.withLock { $0.faults = faults }
        }

        var sent: [String] { state.withLock { $0.sent } }
        /// The body of the last commit.
        var committed: String { state.withLock { $0.committed } }

        /// Returns a new storage, as a new process opens it.
        func storage() throws -> AzureStorage {
            try FakeAzure { [self] request, body in answer(request, body: body) }.storage { $0.maxConcurrentParts = 1 }
        }

        private func answer(_ request: HTTPRequest, body: [UInt8]) -> FakeAzure.Answer? {
            switch request.method {
            case .head:
                return .init(status: 200).with("content-length", value: "\(byteCount)").with("etag", value: "\"0x1\"")
            case .get:
                let blocks = state.withLock { $0.blocks }
                if blocks.isEmpty { return nil }
                let list = blocks.map { "<Block><Name>\($0.key)</Name><Size>\($0.value)</Size></Block>" }.joined()
                return .xml("<BlockList><UncommittedBlocks>\(list)</UncommittedBlocks></BlockList>")
            case .put:
                if let name = Self.block(of: request) { return put(name, body: body) }
                state.withLock { state in
                    state.committed = String(decoding: body, as: UTF8.self)
                    state.blocks = [:]
                }
                return nil
            default: return nil
            }
        }

        private func put(_ name: String, body: [UInt8]) -> FakeAzure.Answer? {
            state.withLock { state in
                state.sent.append(name)
                if case .refusal(let status, let code) = state.faults[state.sent.count] {
                    return .refusal(status, code: code)
                }
                state.blocks[name] = body.count
                guard case .otherChecksum = state.faults[state.sent.count] else { return nil }
                return .init(status: 201).with("x-ms-content-crc64", value: ContentCRC64(of: body + [1]).text)
            }
        }

        /// Returns the name of the block of a request, or nil for another request.
        private static func block(of request: HTTPRequest) -> String? {
            request.target.firstMatch(of: /comp=block&blockid=([^&]+)/).flatMap { String($0.1).removingPercentEncoding }
        }
    }

    private let key = Result { try ObjectKey("space/file") }
    /// The bytes of three blocks.
    private let bytes = SampleBytes.make((2 << 20) + 5)

    /// Uploads the bytes in a new process that has the last checkpoint.
    private func upload(to service: BlockService, notes: Notes) async throws -> StorageError? {
        let storage = try service.storage()
        return try await storageError {
            try await storage.upload(.temporary(bytes), to: key.get(), session: notes.session(notes.saved.last))
        }
    }

    @Test("Blocks that arrived after a wrong checksum are resumed, and earlier ones are not")
    func resumed() async throws {
        let service = BlockService(
            bytes.count, faults: [2: .otherChecksum, 5: .refusal(status: 503, code: "ServerBusy")])
        let notes = Notes()
        #expect(try await upload(to: service, notes: notes)?.code == .integrity)
        #expect(service.sent.count == 2)
        // The next attempt is interrupted after two of its blocks.
        #expect(try await upload(to: service, notes: notes)?.code == .throttled)
        #expect(service.sent.count == 5)
        #expect(try await upload(to: service, notes: notes) == nil)
        #expect(service.sent.count == 6)
        let names = Array(service.sent[2..<4]) + service.sent.suffix(1)
        #expect(Set(names).isDisjoint(with: service.sent.prefix(2)))
        let committed = service.committed.matches(of: /<Uncommitted>([^<]+)<\/Uncommitted>/).map { String($0.1) }
        #expect(committed == names)
    }

    @Test("Blocks of earlier series that leave no room for new ones are dropped")
    func full() async throws {
        let service = BlockService(
            bytes.count,
            faults: [
                2: .otherChecksum, 3: .refusal(status: 409, code: "RequestEntityTooLargeBlockCountExceedsLimit"),
            ])
        let notes = Notes()
        #expect(try await upload(to: service, notes: notes)?.code == .integrity)
        #expect(try await upload(to: service, notes: notes)?.isRetryable == true)
        #expect(service.committed.contains("<BlockList></BlockList>"), "An empty list drops the blocks.")
        #expect(try await upload(to: service, notes: notes) == nil)
        #expect(service.sent.count == 6)
    }

    @Test("The name of a block contains the number of its series")
    func name() {
        let digest = SampleBytes.sha256([1])
        let ids = [BlockID(sha256: digest, number: 258), BlockID(sha256: digest, number: 258, series: 772)]
        let ends = ids.map { id in id.flatMap { Data(base64Encoded: $0.text) }.map { [UInt8]($0.suffix(4)) } }
        #expect(ends == [[0, 0, 1, 2], [3, 4, 1, 2]])
        #expect(BlockID(sha256: digest, number: 65_536) == nil)
    }
}
