import Foundation
import LFSStorage
import LFSTesting
import Testing

@testable import LFSAzure

@Suite("A container")
struct PlaceTests {
    private func place(
        _ account: String = "account", _ container: String = "photos", _ prefix: String = "", _ endpoint: String? = nil
    ) throws -> AzurePlace {
        try AzurePlace(
            account: account, container: container, prefix: prefix, endpoint: endpoint.flatMap { URL(string: $0) })
    }

    @Test("is at Azure's own server, or where the endpoint says")
    func urls() throws {
        let key = try ObjectKey("a/b")
        #expect(
            try place().url(of: key).absoluteString == "https://account.blob.core.windows.net/photos/a/b")
        let emulator = try place("devstoreaccount1", "photos", "x y", "http://127.0.0.1:10000/devstoreaccount1/")
        #expect(
            emulator.url(of: key).absoluteString == "http://127.0.0.1:10000/devstoreaccount1/photos/x%20y/a/b")
        #expect(emulator.location == "azure:127.0.0.1:10000/devstoreaccount1/photos/x y/")
        #expect(emulator.key(listed: "x y/a/b") == key)
        #expect(emulator.key(listed: "x/a/b") == nil && emulator.key(listed: "x y/A") == nil)
    }

    @Test("has a name by Azure's rules, and so have its account and the prefix")
    func names() throws {
        _ = try place("a", "$root")
        for wrong in ["", "A", "a/b", "a b", "-a", "a-", "a?b", "a.b", String(repeating: "a", count: 64)] {
            #expect(throws: StorageError.self, "\(wrong)") { try place(wrong) }
            #expect(throws: StorageError.self, "\(wrong)") { try place("account", wrong) }
        }
        for wrong in ["a//b", "..", "a/../b", "a.", "a\\b", "a\nb", "/a", String(repeating: "a", count: 401)] {
            #expect(throws: StorageError.self, "\(wrong)") { try place("account", "photos", wrong) }
        }
        for wrong in ["https://user@host", "https://host/?sig=1", "https://host/a/../b"] {
            #expect(throws: StorageError.self, "\(wrong)") { try place("account", "photos", "", wrong) }
        }
    }

    @Test("is asked for over https only, unless http is allowed")
    func encryption() throws {
        let url = try #require(URL(string: "http://host"))
        #expect(throws: StorageError.self) {
            try AzureStorage(account: "account", container: "photos", endpoint: url, credentials: .sharedKey("YQ=="))
        }
    }

    @Test("takes what is no setting for one", arguments: ["2023", "2023-11-3", "", "latest", "2023-11-03\r\nx"])
    func version(_ version: String) throws {
        var options = AzureOptions()
        options.serviceVersion = version
        #expect(throws: StorageError.self) { try options.check() }
    }
}

@Suite("A connection string")
struct ConnectionStringTests {
    @Test("names account, credentials and server")
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
        "is refused when half is missing, and never repeated",
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

    @Test("of another account is refused")
    func otherAccount() async throws {
        let error = try await storageError {
            try await FakeAzure().storage(.connectionString("AccountName=b;AccountKey=YQ==")).requireCredentials()
        }
        #expect(error?.code == .unauthorized)
    }
}

@Suite("The environment")
struct EnvironmentTests {
    private func error(_ variables: [String: String]) async throws -> StorageError? {
        try await storageError {
            try await FakeAzure().storage(.environment(AzureEnvironment(variables: variables))).requireCredentials()
        }
    }

    @Test("has credentials, or tells what to set")
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
