-- The reply ends with this number: it proves that the reply is the one to this call (see src/connection/proof.rs). A
-- proof of its own costs Redis another command, which is much for a single job.
local number = ARGV[#ARGV]
if number and string.byte(number) == 35 then -- "#"
  ARGV[#ARGV] = nil
else
  number = nil
end
