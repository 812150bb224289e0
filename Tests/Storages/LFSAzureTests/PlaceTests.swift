import Foundation
import LFSStorage
import LFSTesting
import Testing

@testable import LFSAzure

@Suite("Containers")
struct PlaceTests {
    private func place(
        _ account: String = "account", container: String = "photos", prefix: String = "", endpoint: String? = nil
    ) throws -> AzurePlace {
        try AzurePlace(
            account: account, container: container, prefix: prefix, endpoint: endpoint.flatMap { URL(string: $0) })
    }

    @Test("A container is on Azure's server or on the configured endpoint")
    func urls() throws {
        let key = try ObjectKey("a/b")
        #expect(
            try place().url(of: key).absoluteString == "https://account.blob.core.windows.net/photos/a/b")
        let emulator = try place(
            "devstoreaccount1", container: "photos", prefix: "x y", endpoint: "http://127.0.0.1:10000/devstoreaccount1/"
        )
        #expect(
            emulator.url(of: key).absoluteString == "http://127.0.0.1:10000/devstoreaccount1/photos/x%20y/a/b")
        #expect(emulator.location == "azure:127.0.0.1:10000/devstoreaccount1/photos/x y/")
        #expect(emulator.key(listed: "x y/a/b") == key)
        #expect(emulator.key(listed: "x/a/b") == nil && emulator.key(listed: "x y/A") == nil)
    }

    @Test("A listed name belongs to the place only if its prefix has the same bytes")
    func equivalentPrefixes() throws {
        let composed = try place(prefix: "\u{E9}")
        #expect(composed.key(listed: "\u{E9}/a")?.rawValue == "a")
        #expect(composed.key(listed: "e\u{301}/a") == nil)
    }

    @Test("Names of accounts, containers and prefixes follow Azure's rules")
    func names() throws {
        _ = try place("a", container: "$root")
        for wrong in ["", "A", "a/b", "a b", "-a", "a-", "a?b", "a.b", String(repeating: "a", count: 64)] {
            #expect(throws: StorageError.self, "\(wrong)") { try place(wrong) }
            #expect(throws: StorageError.self, "\(wrong)") { try place("account", container: wrong) }
        }
        for wrong in ["a//b", "..", "a/../b", "a.", "a\\b", "a\nb", "/a", String(repeating: "a", count: 401)] {
            #expect(throws: StorageError.self, "\(wrong)") { try place("account", container: "photos", prefix: wrong) }
        }
        for wrong in ["https://user@host", "https://host/?sig=1", "https://host/a/../b"] {
            #expect(throws: StorageError.self, "\(wrong)") {
                try place("account", container: "photos", prefix: "", endpoint: wrong)
            }
        }
    }

    @Test("A plain HTTP endpoint of Azure is refused unless an option allows it")
    func encryption() throws {
        let url = try #require(URL(string: "http://host"))
        #expect(throws: StorageError.self) {
            try AzureStorage(account: "account", container: "photos", endpoint: url, credentials: .sharedKey("YQ=="))
        }
    }

    @Test("An invalid service version is refused", arguments: ["2023", "2023-11-3", "", "latest", "2023-11-03\r\nx"])
    func version(_ version: String) throws {
        var options = AzureOptions()
        options.serviceVersion = version
        #expect(throws: StorageError.self) { try options.check() }
    }
}

@Suite("Connection strings")
struct ConnectionStringTests {
    @Test("A connection string sets the account, credentials and endpoint")
    func fields() throws {
        let plain = try ConnectionString(
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=YWE9PQ==;EndpointSuffix=core.chinacloudapi.cn")
        #expect(plain.account == "a" && plain.key == "YWE9PQ==" && plain.signature == nil)
        #expect(plain.endpoint?.absoluteString == "https://a.blob.core.chinacloudapi.cn")
        #expect(try ConnectionString("AccountName=a;AccountKey=b;").endpoint == nil)
        let signed = try ConnectionString(
            "BlobEndpoint=https://a.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=a%3D")
        #expect(signed.account == "a" && signed.signature == "sv=1&sig=a%3D" && signed.key == nil)
        let emulator = try ConnectionString("UseDevelopmentStorage=true")
        #expect(emulator.endpoint?.absoluteString == "http://127.0.0.1:10000/devstoreaccount1")
    }

    @Test(
        "An incomplete connection string is refused and not repeated",
        arguments: [
            "", "canary", "AccountName=a", "AccountKey=canary",
            "AccountName=a;AccountKey=canary;SharedAccessSignature=b",
            "AccountName=a;AccountKey=canary;BlobEndpoint=", "SharedAccessSignature=canary",
        ])
    func refused(_ text: String) async throws {
        let error = #expect(throws: StorageError.self) { try ConnectionString(text) }
        #expect(error?.code == .unauthorized)
        #expect(error.map { !String(reflecting: $0).contains("canary") } == true)
    }

    @Test("A connection string of another account is refused")
    func otherAccount() async throws {
        let error = try await storageError {
            try await FakeAzure().storage(.connectionString("AccountName=b;AccountKey=YQ==")).requireCredentials()
        }
        #expect(error?.code == .unauthorized)
    }
}

@Suite("Environment variables")
struct EnvironmentTests {
    private func error(_ variables: [String: String]) async throws -> StorageError? {
        try await storageError {
            try await FakeAzure().storage(.environment(AzureEnvironment(variables: variables))).requireCredentials()
        }
    }

    @Test("Azure's environment variables give credentials, or the error names one")
    func variables() async throws {
        #expect(try await error(["AZURE_STORAGE_KEY": "YQ=="]) == nil)
        #expect(try await error(["AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=a"]) == nil)
        #expect(try await error(["AZURE_STORAGE_CONNECTION_STRING": "AccountName=account;AccountKey=YQ=="]) == nil)
        for (variables, missing) in [
            ([:], "AZURE_STORAGE_KEY"), (["AZURE_STORAGE_KEY": " "], "AZURE_STORAGE_KEY"),
            (["AZURE_CLIENT_SECRET": "s", "AZURE_CLIENT_ID": "c"], "AZURE_TENANT_ID"),
            (["AZURE_CLIENT_SECRET": "s", "AZURE_TENANT_ID": "t"], "AZURE_CLIENT_ID"),
            (["AZURE_STORAGE_KEY": "YQ==", "AZURE_STORAGE_ACCOUNT": "other"], "other"),
            (["AZURE_STORAGE_SAS_TOKEN": "canary"], "sig="),
            (
                ["AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_FEDERATED_TOKEN_FILE": "/not/there"],
                "/not/there"
            ),
        ] as [([String: String], String)] {
            let error = try #require(try await error(variables), "\(missing)")
            #expect(error.code == .unauthorized && error.message.contains(missing), "\(error.message)")
            #expect(!error.message.contains("canary"))
        }
    }
}
