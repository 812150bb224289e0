import LFSHTTP
import LFSStorage
import Testing

@testable import LFSAzure

@Suite("Creation of a container")
struct ContainerCreationTests {
    @Test("A missing container is created without public access")
    func created() async throws {
        let fake = FakeAzure { _, _ in FakeAzure.Answer(status: 201) }
        #expect(try await fake.storage().createIfMissing())
        #expect(fake.requests.map(\.method) == [.put])
        #expect(fake.requests.map(\.target) == ["/container?restype=container"])
        #expect(fake.requests.first?.headers["x-ms-blob-public-access"] == nil)
    }

    /// The service answers 411 to a request without a length (Azure/Azurite, issue 2618).
    @Test("The request to create a container has a length, although its body is empty")
    func length() async throws {
        let fake = FakeAzure { _, _ in FakeAzure.Answer(status: 201) }
        _ = try await fake.storage().createIfMissing()
        guard case .bytes(let bytes) = try #require(fake.requests.first).body else {
            Issue.record("The request has no length.")
            return
        }
        #expect(bytes.isEmpty)
    }

    @Test("An existing container is kept")
    func existing() async throws {
        let fake = FakeAzure { _, _ in .refusal(409, code: "ContainerAlreadyExists") }
        #expect(try await fake.storage().createIfMissing() == false)
    }

    @Test("A refusal to create a container is an error")
    func forbidden() async throws {
        let fake = FakeAzure { _, _ in .refusal(403, code: "AuthorizationPermissionMismatch") }
        let error = await #expect(throws: StorageError.self) { try await fake.storage().createIfMissing() }
        #expect(error?.code == .forbidden)
    }
}
