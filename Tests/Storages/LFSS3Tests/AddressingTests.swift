import Foundation
import LFSStorage
import Testing

@testable import LFSS3

@Suite struct AddressingTests {
    @Test func wordsOfTheCommandLineNameTheStyles() {
        #expect(S3Addressing(rawValue: "path") == .path)
        #expect(S3Addressing(rawValue: "virtual") == .virtual)
        #expect(S3Addressing(rawValue: "other") == nil)
    }

    @Test(
        "An endpoint with more than a server and a path is refused with a hint",
        arguments: [
            "https://h/?x-id=1", "https://h#part", "https://h/base?", "https://h/a%2fb", "https://h/a%2Fb",
            "https://h/../other", "https://h/a/../b", "https://h/%2e%2e/b", "https://h/./b", "https://h//b",
            "https://h/a%5Cb", "https://user@h", "https://user:canary@h", "ftp://h",
        ])
    func endpoint(_ text: String) throws {
        let url = try #require(URL(string: text))
        let error = #expect(throws: StorageError.self) {
            try S3Storage(bucket: "bucket", endpoint: url, credentials: .static(Canary.credentials))
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("canary") == false)
    }

    @Test("Endpoints may have a path", arguments: ["https://h", "https://h/", "https://h/base/", "https://h/a/b%20c"])
    func path(_ text: String) throws {
        let url = try #require(URL(string: text))
        _ = try S3Storage(bucket: "bucket", endpoint: url, credentials: .static(Canary.credentials))
    }

    @Test(
        "The location is the same for each addressing style and contains no secret",
        arguments: [
            ("https://H:8333/base/", "p", "s3:h:8333/base/photos/p/"), ("https://h", "", "s3:h/photos/"),
            ("", "a/b/", "s3:amazonaws.com/photos/a/b/"),
        ])
    func place(_ endpoint: String, prefix: String, expected: String) throws {
        let url = endpoint.isEmpty ? nil : URL(string: endpoint)
        for (region, addressing) in zip(["us-east-1", "eu-west-1", "x"], S3Addressing.allCases) {
            let storage = try S3Storage(
                bucket: "photos", prefix: prefix, region: region, endpoint: url, addressing: addressing,
                credentials: .static(Canary.credentials))
            #expect(storage.capabilities.location == expected)
        }
    }

    @Test("A listed name belongs to the location only if its prefix has the same bytes")
    func listed() throws {
        let location = try S3Location(bucket: "photos", prefix: "\u{E9}", endpoint: nil, addressing: .automatic)
        #expect(location.key(listed: "\u{E9}/a")?.rawValue == "a")
        #expect(location.key(listed: "e\u{301}/a") == nil)
        #expect(location.key(listed: "\u{E9}/A") == nil)
    }

    enum Setting: CaseIterable { case region, storageClass, acl, key }

    @Test("An invalid option is reported when the storage is made", arguments: Setting.allCases)
    func setting(_ setting: Setting) throws {
        var options = S3Options()
        var region = "us-east-1"
        switch setting {
        case .region: region = "eu west\r\n1"
        case .storageClass: options.storageClass = "standard ia"
        case .acl: options.cannedACL = ""
        case .key: options.encryption = .kms(keyID: "a\u{1B}b")
        }
        let error = #expect(throws: StorageError.self) {
            try S3Storage(bucket: "b", region: region, credentials: .static(Canary.credentials), options: options)
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("such as") == true || error?.message.contains("its id") == true)
    }
}
