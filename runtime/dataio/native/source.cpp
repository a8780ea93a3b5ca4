// Local files through pread: no mapping, since a mapped file that is cut while it is read kills the process.
#include "source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "fault.h"

namespace sexpgpu::dataio {
namespace {

[[noreturn]] void fail_with_errno(const std::string& name, const std::string& verb, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      fail({.code = "E-STORE-001",
            .message = "there is no file " + quoted(name),
            .advice = "a relative path resolves against the experiment file's folder"});
    case EACCES:
    case EPERM:
      fail({.code = "E-STORE-002", .message = "no permission to read " + quoted(name)});
    default:
      fail({.code = "E-STORE-008",
            .message = quoted(name) + " could not be " + verb + ": " + std::strerror(error)});
  }
}

class LocalFile final : public ByteSource {
 public:
  LocalFile(const std::string& path, std::string name, ByteCounter counter)
      : name_(std::move(name)), counter_(std::move(counter)) {
    do fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail_with_errno(name_, "opened", errno);
    struct stat status {};
    if (::fstat(fd_, &status) != 0) {
      const int error = errno;
      ::close(fd_);
      fail_with_errno(name_, "opened", error);
    }
    if (!S_ISREG(status.st_mode)) {
      ::close(fd_);
      fail({.code = "E-STORE-008",
            .message = quoted(name_) + (S_ISDIR(status.st_mode) ? " is a folder" : " is not a regular file"),
            .advice = "list the files one by one; there is no globbing"});
    }
    size_ = status.st_size;
  }

  ~LocalFile() override { ::close(fd_); }

  int64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }

  void read(int64_t offset, int64_t count, uint8_t* out) override {
    int64_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(fd_, out + done, count - done, offset + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with_errno(name_, "read", errno);
      if (got == 0)
        fail({.code = "E-STORE-005",
              .message = quoted(name_) + " ends at byte " + std::to_string(offset + done) + ", where " +
                         std::to_string(count - done) + " more are expected"});
      done += got;
    }
    counter_->fetch_add(count, std::memory_order_relaxed);
  }

 private:
  std::string name_;
  ByteCounter counter_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace

std::shared_ptr<ByteSource> open_local(const std::string& path, const std::string& name, ByteCounter counter) {
  return std::make_shared<LocalFile>(path, name, std::move(counter));
}

}  // namespace sexpgpu::dataio
