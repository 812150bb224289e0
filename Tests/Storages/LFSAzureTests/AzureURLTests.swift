import Foundation
import LFSStorage
import Testing

@testable import LFSAzure

@Suite("Container URLs")
struct AzureURLTests {
    @Test("An Azure URL sets the account, container, prefix and endpoint")
    func whole() throws {
        let url = try AzureURL(
            parsing:
                "azure://devstoreaccount1/photos/a/b?endpoint=http://127.0.0.1:10000/devstoreaccount1&access-tier=Cool")
        #expect(url.account == "devstoreaccount1" && url.container == "photos" && url.prefix == "a/b")
        #expect(url.endpoint?.port == 10_000 && url.accessTier == "Cool")
        let storage = try AzureStorage(url, environment: ["AZURE_STORAGE_KEY": "YQ=="])
        #expect(storage.capabilities.location == "azure:127.0.0.1:10000/devstoreaccount1/photos/a/b/")
        let plain = try AzureStorage(AzureURL(parsing: "azure://account/photos"), environment: [:])
        #expect(plain.capabilities.location == "azure:account.blob.core.windows.net/photos/")
    }

    @Test("The endpoint of the same account's connection string is used")
    func fromEnvironment() throws {
        func server(_ account: String) throws -> String {
            try AzureURL(parsing: "azure://account/photos").server(environment: [
                "AZURE_STORAGE_CONNECTION_STRING":
                    "AccountName=\(account);AccountKey=YQ==;BlobEndpoint=https://blobs.example/\(account)"
            ]).absoluteString
        }
        #expect(try server("account") == "https://blobs.example/account")
        #expect(try server("other") == "https://account.blob.core.windows.net")
    }

    @Test(
        "An invalid Azure URL is refused with a hint",
        arguments: [
            ("azure://account", "azure://account/container"), ("azure:///photos", "names no container"),
            ("s3://account/photos", "azure://account/container"), ("azure://account/a/../b", ".."),
            ("azure://account/photos?sig=S3CR3T", "endpoint"), ("azure://account:S3CR3T@x/photos", "AZURE_STORAGE_KEY"),
            ("azure://account:S3CR3T/photos", "AZURE_STORAGE_KEY"),
            ("azure://account/photos?endpoint=ftp://x", "https://host"),
            ("azure://account/photos?endpoint=https://a:S3CR3T@x", "AZURE_STORAGE_KEY"),
        ])
    func wrong(text: String, advice: String) {
        let error = #expect(throws: StorageError.self) { try AzureURL(parsing: text) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("S3CR3T") == false)
    }

    @Test("Plain HTTP to Azure must be explicit or lead to this machine")
    func encryption() throws {
        let url = try AzureURL(parsing: "azure://account/photos")
        func open(_ server: String) throws {
            _ = try AzureStorage(
                url,
                environment: [
                    "AZURE_STORAGE_CONNECTION_STRING": "AccountName=account;AccountKey=YQ==;BlobEndpoint=\(server)"
                ])
        }
        try open("http://127.0.0.1:10000/account")
        #expect(throws: StorageError.self) { try open("http://blobs.example/account") }
    }
}
