import Foundation
import LFSHTTPStorage
import LFSStorage
import Testing

@testable import LFSS3

@Suite("Replies", .timeLimit(.minutes(10))) struct ReplyTests {
    private static let namespace = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
    private static let error = """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>NoSuchKey</Code><Message>The resource you requested does not exist</Message>\
        <Resource>/mybucket/myfoto.jpg</Resource><RequestId>4442587FB7D0A2F9</RequestId></Error>
        """
    private static let created = """
        <?xml version="1.0" encoding="UTF-8"?>
        <InitiateMultipartUploadResult \(namespace)><Bucket>b</Bucket><Key>k</Key><UploadId>VXBsb2Fk</UploadId>\
        </InitiateMultipartUploadResult>
        """
    private static let completed = """
        <CompleteMultipartUploadResult \(namespace)><Location>http://h/b/k</Location><Bucket>b</Bucket><Key>k</Key>\
        <ETag>&quot;3858f62230ac3c915f300c664312c11f-9&quot;</ETag><ChecksumSHA256>abc=-9</ChecksumSHA256>\
        </CompleteMultipartUploadResult>
        """
    private static let parts = """
        <ListPartsResult \(namespace)><UploadId>u</UploadId><NextPartNumberMarker>3</NextPartNumberMarker>\
        <IsTruncated>true</IsTruncated>\
        <Part><PartNumber>2</PartNumber><ETag>"new"</ETag><Size>20</Size><ChecksumSHA256>s=</ChecksumSHA256></Part>\
        <Part><PartNumber>2</PartNumber><ETag>"old"</ETag><Size>10</Size></Part>\
        <Part><PartNumber>3</PartNumber><ETag>"c"</ETag><Size>0</Size></Part></ListPartsResult>
        """
    private static let objects = """
        <ListBucketResult \(namespace)><Name>b</Name><Prefix/><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>\
        <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
        <NextContinuationToken>1ueG/+=</NextContinuationToken>\
        <Contents><Key>a/caf%C3%A9+1</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>\
        <ETag>"fba9dede5f27731c9771645a39863328"</ETag><Size>434234</Size></Contents>\
        <Contents><Key>b</Key><Size>0</Size></Contents></ListBucketResult>
        """
    private static let uploads = """
        <ListMultipartUploadsResult \(namespace)><Bucket>b</Bucket><NextKeyMarker>k</NextKeyMarker>\
        <NextUploadIdMarker>u2</NextUploadIdMarker><IsTruncated>true</IsTruncated>\
        <Upload><Key>k</Key><UploadId>u1</UploadId><Initiated>2010-11-10T20:48:33.000Z</Initiated></Upload>\
        <Upload><Key>k</Key><UploadId>u2</UploadId><Initiated>yesterday</Initiated></Upload>\
        </ListMultipartUploadsResult>
        """

    @Test func anErrorHasItsCode() throws {
        let reply = try ErrorReply(Array(Self.error.utf8))
        #expect(reply.code == "NoSuchKey")
        #expect(reply.message == "The resource you requested does not exist")
        #expect(reply.requestID == "4442587FB7D0A2F9")
        #expect(reply.region == nil)
        #expect(throws: StorageError.self) { try ErrorReply(Array("<Error><Message>x</Message></Error>".utf8)) }
    }

    @Test func anErrorPageIsToldByItsBeginning() {
        let rule = String(repeating: "-", count: 80)
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head><body>\u{1B}[2J\(rule)nginx</body></html>"
        let error = #expect(throws: StorageError.self) { try ErrorReply(Array(page.utf8)) }
        #expect(error?.code == .serverError)
        #expect(error?.message.contains("<title>502 Bad Gateway</title>") == true)
        #expect(error?.message.contains("\u{1B}") == false)
        #expect(error?.message.contains("nginx") == false)
    }

    @Test func aMultipartUploadHasItsID() throws {
        #expect(try CreateMultipartReply(Array(Self.created.utf8)).uploadID == "VXBsb2Fk")
    }

    @Test func aCompletionHasTagAndChecksum() throws {
        let expected = CompleteMultipartReply.completed(
            .init(entityTag: EntityTag("3858f62230ac3c915f300c664312c11f-9"), checksumSHA256: "abc=-9"))
        #expect(try CompleteMultipartReply(Array(Self.completed.utf8)) == expected)
        #expect(try CompleteMultipartReply(Array("  \n  \(Self.completed)".utf8)) == expected)
    }

    @Test func aCompletionMayBeAnError() throws {
        guard case .failed(let reply) = try CompleteMultipartReply(Array(Self.error.utf8)) else {
            Issue.record("The reply counts as a success.")
            return
        }
        #expect(reply.code == "NoSuchKey")
    }

    @Test func aPartThatIsListedTwiceCountsOnceAsTheFirst() throws {
        let reply = try ListPartsReply(Array(Self.parts.utf8))
        #expect(reply.parts.map(\.number) == [2, 3])
        #expect(reply.parts.map(\.byteCount) == [20, 0])
        #expect(reply.parts.map(\.entityTag.text) == ["new", "c"])
        #expect(reply.parts.map(\.checksumSHA256) == ["s=", nil])
        #expect(reply.nextMarker == 3)
        let last = Self.parts.replacing("<IsTruncated>true", with: "<IsTruncated>false")
        #expect(try ListPartsReply(Array(last.utf8)).nextMarker == nil)
    }

    @Test func aListingDecodesItsKeys() throws {
        let reply = try ListObjectsReply(Array(Self.objects.utf8))
        #expect(reply.objects.map(\.name) == ["a/caf\u{E9} 1", "b"])
        #expect(reply.objects.map(\.byteCount) == [434_234, 0])
        #expect(reply.objects.map(\.entityTag?.md5) == ["fba9dede5f27731c9771645a39863328", nil])
        #expect(reply.nextToken == "1ueG/+=")
        let plain = Self.objects.replacing("<EncodingType>url</EncodingType>", with: "")
        #expect(try ListObjectsReply(Array(plain.utf8)).objects.first?.name == "a/caf%C3%A9+1")
    }

    @Test func aCutListingWithoutATokenIsAnError() {
        let text = Self.objects.replacing("NextContinuationToken", with: "Next")
        #expect(throws: StorageError.self) { try ListObjectsReply(Array(text.utf8)) }
    }

    @Test func aListingOfAThousandObjectsIsRead() throws {
        let object =
            "<Contents><Key>\(String(repeating: "k", count: 512))</Key><ETag>\"e\"</ETag><Size>1</Size></Contents>"
        let page = String(repeating: object, count: 1_000)
        let text = "<ListBucketResult><IsTruncated>false</IsTruncated>\(page)</ListBucketResult>"
        #expect(try ListObjectsReply(Array(text.utf8)).objects.count == 1_000)
    }

    @Test func uploadsHaveADateWhenItCanBeRead() throws {
        let reply = try ListUploadsReply(Array(Self.uploads.utf8))
        #expect(reply.uploads.map(\.uploadID) == ["u1", "u2"])
        #expect(reply.uploads.map(\.initiated) == [Date(timeIntervalSince1970: 1_289_422_113), nil])
        #expect(reply.next == ListUploadsReply.Marker(key: "k", uploadID: "u2"))
    }

    @Test("An S3 reply cut at any byte is refused or complete")
    func prefixes() throws {
        try requireWhole(Self.error) { try ErrorReply($0) }
        try requireWhole(Self.created) { try CreateMultipartReply($0) }
        try requireWhole(Self.completed) { try CompleteMultipartReply($0) }
        try requireWhole(Self.parts) { try ListPartsReply($0) }
        try requireWhole(Self.objects + "\n\n") { try ListObjectsReply($0) }
        try requireWhole(Self.uploads) { try ListUploadsReply($0) }
    }

    private func requireWhole<Reply: Equatable>(_ text: String, _ read: ([UInt8]) throws -> Reply) throws {
        let bytes = Array(text.utf8)
        let whole = try read(bytes)
        for count in 0..<bytes.count {
            do {
                #expect(try read(Array(bytes[..<count])) == whole)
                #expect(bytes[count...].allSatisfy { $0 == UInt8(ascii: "\n") }, "cut after \(count) bytes")
            } catch {
                #expect((error as? StorageError)?.code == .serverError)
            }
        }
    }

    @Test func aCompletionListsItsPartsInOrderAndEscaped() throws {
        let body = CompleteMultipartBody([
            .init(number: 10, entityTag: try #require(EntityTag("\"b\""))),
            .init(number: 2, entityTag: try #require(EntityTag("a<&>")), checksumSHA256: "c+/="),
        ])
        #expect(
            String(decoding: body.bytes, as: UTF8.self)
                == "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                + "<Part><PartNumber>2</PartNumber><ETag>&quot;a&lt;&amp;&gt;&quot;</ETag>"
                + "<ChecksumSHA256>c+/=</ChecksumSHA256></Part>"
                + "<Part><PartNumber>10</PartNumber><ETag>&quot;b&quot;</ETag></Part></CompleteMultipartUpload>")
        #expect(try XMLReader.read(body.bytes, root: "CompleteMultipartUpload").all("Part").count == 2)
    }

    @Test func onlyThirtyTwoHexDigitsLookLikeMD5() {
        #expect(EntityTag("\"FBA9DEDE5F27731C9771645A39863328\"")?.md5 == "fba9dede5f27731c9771645a39863328")
        #expect(EntityTag("\"fba9dede5f27731c9771645a39863328-1\"")?.md5 == nil)
        #expect(EntityTag("\"gba9dede5f27731c9771645a39863328\"")?.md5 == nil)
        #expect(EntityTag("\"\"") == nil)
        #expect(EntityTag("") == nil)
    }
}
